use super::*;
use crate::command::client::preset::ALL;
use serde_json::json;

fn provider() -> Provider {
    Provider { issuer: "https://id.example.com/acme/".to_owned(), algorithm: "ES256".to_owned() }
}

fn client() -> Value {
    json!({
        "client_id": "c1", "client_secret": "cs_s3cret", "scope": "openid email groups",
        "redirect_uris": ["https://app.example.com/in/redirect_uri", "https://app.example.com/other"],
        "audiences": ["https://api.example.com"],
    })
}

#[test]
fn every_form_names_the_issuer_and_the_client() {
    for preset in &ALL {
        let text = text(preset.form, &provider(), &client());
        assert!(text.contains("https://id.example.com/acme/"), "{}: {text}", preset.name);
        assert!(text.contains("c1"), "{}: {text}", preset.name);
        assert_eq!(text.contains("cs_s3cret"), preset.form != Form::Kubernetes, "{}: {text}", preset.name);
        assert!(text.ends_with('\n') && !text.contains("{{"), "{}: {text}", preset.name);
    }
}

#[test]
fn endpoints_are_below_the_issuer_with_one_slash() {
    let text = text(Form::Django, &provider(), &client());
    for wanted in [
        "OIDC_OP_TOKEN_ENDPOINT = \"https://id.example.com/acme/token\"\n",
        "OIDC_OP_JWKS_ENDPOINT = \"https://id.example.com/acme/.well-known/jwks.json\"\n",
        "OIDC_RP_SIGN_ALGO = \"ES256\"\n",
    ] {
        assert!(text.contains(wanted), "{text}");
    }
    let own = json!({ "id_token_signed_response_alg": "PS256" });
    let own = super::text(Form::Django, &provider(), &own);
    assert!(own.contains("OIDC_RP_SIGN_ALGO = \"PS256\""), "{own}");
}

#[test]
fn values_cannot_leave_their_quotes() {
    let client = json!({ "client_id": "a\"\nb\\c", "client_secret": "\"] evil = [\"", "scope": "openid" });
    let text = text(Form::Oauth2Proxy, &provider(), &client);
    assert!(text.contains("client_id = \"a\\\"\u{fffd}b\\\\c\"\n"), "{text}");
    assert!(text.contains("client_secret = \"\\\"] evil = [\\\"\"\n"), "{text}");
    let plain = super::text(Form::Plain, &provider(), &json!({ "client_id": "a\u{1b}[2J" }));
    assert!(plain.contains("a\u{fffd}[2J") && !plain.contains('\u{1b}'), "{plain:?}");
}

#[test]
fn each_form_has_the_lists_as_its_application_reads_them() {
    let of = |form| text(form, &provider(), &client());
    assert!(of(Form::Jupyterhub).contains("scope = [\"openid\",\"email\",\"groups\"]\n"));
    assert!(of(Form::SpringBoot).contains("scope: \"openid,email,groups\"\n"));
    assert!(of(Form::AuthJs).contains("// symbolon.js"), "a provider for any framework of Auth.js");
    let kubernetes = of(Form::Kubernetes);
    assert!(
        kubernetes.contains("      - \"--oidc-extra-scope=email\"\n      - \"--oidc-extra-scope=groups\"\n")
    );
    assert!(!kubernetes.contains("extra-scope=openid"), "{kubernetes}");
    let api = of(Form::ResourceServer);
    assert!(api.contains("audiences") && api.contains("/acme/introspect"), "{api}");
    assert!(!of(Form::Machine).contains("authorization_endpoint"));
}

#[test]
fn apache_protects_the_folder_of_the_redirect_uri() {
    assert!(text(Form::ModAuthOpenidc, &provider(), &client()).contains("<Location \"/in\">"));
    for (url, folder_of) in [
        ("https://a.example/redirect_uri", "/"),
        ("https://a.example/x/y/redirect_uri", "/x/y"),
        ("https://a.example", "/"),
        ("", "/"),
    ] {
        assert_eq!(folder(url), folder_of, "{url}");
    }
}
