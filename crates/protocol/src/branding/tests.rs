use serde_json::json;

use super::*;

fn told(value: Value) -> String {
    match serde_json::from_value::<Branding>(value) {
        Ok(branding) => branding.validate().err().unwrap_or_default(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_cannot_be_read_is_refused_with_its_ratio() {
    let accent = |light, dark| json!({ "accent": { "light": light, "dark": dark } });
    assert_eq!(told(accent("#0f665d", "#56bcad")), "");
    assert_eq!(
        told(accent("#777777", "#56bcad")),
        "branding.accent.light has a contrast of 4.07:1 with #f6f4f0 (ground), and needs 4.5:1"
    );
    assert!(told(accent("#0f665d", "#0f665d")).starts_with("branding.accent.dark has a contrast of"));
    for wrong in ["red", "#fff", "#12345g", "#1234567", "url(x)", "#+12345", "#éab0"] {
        assert!(told(accent(wrong, "#56bcad")).contains("#rrggbb"), "{wrong}");
    }
}

#[test]
fn links_are_of_the_web_and_texts_are_bounded() {
    assert_eq!(
        told(json!({ "policy_uri": "https://example.com/privacy", "name": "Acme", "foot": "Hi" })),
        ""
    );
    for (value, member) in [
        (json!({ "help_uri": "javascript:alert(1)" }), "branding.help_uri"),
        (json!({ "tos_uri": "data:text/html,x" }), "branding.tos_uri"),
        (json!({ "name": " " }), "branding.name"),
        (json!({ "name": "x".repeat(81) }), "branding.name"),
        (json!({ "intro": "a\u{0}b" }), "branding.intro"),
        (json!({ "foot": "x".repeat(501) }), "branding.foot"),
        (json!({ "colour": "#000000" }), "unknown field"),
    ] {
        assert!(told(value.clone()).starts_with(member), "{value}");
    }
}

#[test]
fn links_and_texts_may_be_in_further_languages() {
    let texts = json!({
        "intro": "One account", "intro#de": "Ein Konto", "intro#pt-BR": "Uma conta", "foot#fr": "Bonjour",
        "help_uri#de": "https://acme.example/hilfe", "tos_uri#de": null,
    });
    assert_eq!(told(texts.clone()), "");
    let branding: Branding = serde_json::from_value(texts).unwrap();
    let intros = ["de", "de-AT", "pt", "ja"].map(|language| branding.displayed_in("intro", language));
    assert_eq!(intros, ["Ein Konto", "Ein Konto", "Uma conta", "One account"].map(Some));
    assert_eq!(branding.displayed_in("foot", "fr"), Some("Bonjour"));
    assert_eq!(branding.displayed_in("foot", "de"), None);
    let stored = serde_json::to_value(&branding).unwrap();
    assert_eq!((&stored["intro#de"], stored.get("tos_uri#de")), (&json!("Ein Konto"), None));
    assert_eq!(serde_json::from_value::<Branding>(stored).unwrap(), branding);
    let many: Map<String, Value> = (0..65).map(|number| (format!("intro#x{number}"), json!("Hi"))).collect();
    for (value, why) in [
        (json!({ "intro#": "Hi" }), "branding.intro has a translation whose language is no tag"),
        (json!({ "foot#d_e": "Hi" }), "branding.foot has a translation whose language is no tag"),
        (json!({ "foot#de": " " }), "branding.foot#de must be 1 to 500 characters on one line"),
        (json!({ "policy_uri#de": "javascript:x" }), "branding.policy_uri#de must be an http or https URL"),
        (json!({ "name#de": "Acme" }), "unknown field"),
        (json!({ "intro#de": 7 }), "intro#de must be a text"),
        (Value::Object(many), "branding is in further languages more than 64 times"),
    ] {
        assert!(told(value.clone()).starts_with(why), "{value}");
    }
}

#[test]
fn the_members_are_those_that_are_written() {
    let all = json!({
        "name": "Acme", "accent": { "light": "#0f665d", "dark": "#56bcad" }, "variables": { "radius": "4px" },
        "help_uri": "https://acme.example", "policy_uri": "https://acme.example", "tos_uri": "https://acme.example",
        "intro": "Hi", "foot": "Hi",
    });
    let Value::Object(written) =
        serde_json::to_value(serde_json::from_value::<Branding>(all).unwrap()).unwrap()
    else {
        panic!("an object")
    };
    let mut members = MEMBERS.to_vec();
    members.sort_unstable();
    let mut names: Vec<_> = written.keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, members);
    assert!(check_members(&written).is_ok());
    let unknown = Map::from_iter([("intro#de".to_owned(), json!("x")), ("intr".to_owned(), json!("x"))]);
    let told = check_members(&unknown).unwrap_err().to_string();
    assert_eq!(told, "unknown member \"branding.intr\"; did you mean \"branding.intro\"?");
}

#[test]
fn variables_are_checked_together_with_the_accent_and_with_what_is_not_set() {
    let variables = |value| told(json!({ "variables": value }));
    assert_eq!(variables(json!({ "ground": { "light": "#ffffff" }, "radius": "0px" })), "");
    assert_eq!(
        variables(json!({ "ink": { "light": "#999999" } })),
        "branding.variables.ink.light has a contrast of 2.59:1 with #f6f4f0 (ground), and needs 4.5:1"
    );
    assert_eq!(
        variables(json!({ "surface": { "dark": "#e8ece9" } })),
        "branding.variables.surface.dark has a contrast of 1.00:1 with #e8ece9 (ink), and needs 4.5:1"
    );
    assert!(variables(json!({ "edge": { "light": "#eeeeee" } })).ends_with("(surface), and needs 3:1"));
    // An accent for a white card cannot be read on a black one.
    let black = json!({
        "accent": { "light": "#0f665d", "dark": "#56bcad" },
        "variables": {
            "ground": { "light": "#000000" }, "surface": { "light": "#000000" }, "sunken": { "light": "#000000" },
            "ink": { "light": "#ffffff" }, "muted": { "light": "#cccccc" },
        },
    });
    assert!(told(black).starts_with("branding.accent.light has a contrast of"));
    assert!(told(json!({ "variables": { "radius": "99px" } })).contains("variables.radius: a length is"));
}

fn sheet(value: Value) -> String {
    let branding: Branding = serde_json::from_value(value).unwrap();
    branding.style_sheet().map(|sheet| sheet.text().to_owned()).unwrap_or_default()
}

#[test]
fn a_style_sheet_has_variables_only_and_each_colour_in_both_schemes() {
    assert_eq!(sheet(json!({ "name": "Acme" })), "");
    let accent = json!({ "accent": { "light": "#0F665D", "dark": "#56bcad" } });
    assert_eq!(
        sheet(accent.clone()),
        ":root{--accent:#0f665d;--accent-strong:#0f665d;--button:#0f665d;--button-strong:#0f665d;--tint:#f4f2ee;}\
         @media (prefers-color-scheme:dark){:root{--accent:#56bcad;--accent-strong:#56bcad;--button:#56bcad;\
         --button-strong:#56bcad;--tint:#131918;}}\n"
    );
    let ground = json!({ "ground": { "light": "#ffffff" }, "sans": ["Inter", "serif"], "shadow": "none", "radius": "4px" });
    assert_eq!(
        sheet(json!({ "variables": ground })),
        ":root{--ground:#ffffff;--radius:4px;--sans:\"Inter\",serif;--shadow:none;}\
         @media (prefers-color-scheme:dark){:root{--ground:#111615;}}\n"
    );
    assert_eq!(sheet(json!({ "variables": { "radius": "4px" } })), ":root{--radius:4px;}\n");
    let query =
        |value| serde_json::from_value::<Branding>(value).unwrap().style_sheet().unwrap().query().to_owned();
    assert_ne!(query(accent.clone()), query(json!({ "variables": { "radius": "4px" } })));
    assert_eq!(query(accent.clone()), query(accent));
}
