//! What the well-known providers have in common everywhere, so that nobody has to look it up.

use serde::Deserialize;

use super::{ProviderKind, ProviderResponseMode};

/// A well-known provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// Google.
    Google,
    /// Microsoft Entra ID: one tenant.
    Microsoft,
    /// Apple.
    Apple,
    /// GitHub.
    Github,
}

/// What a preset fills in where nothing is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filled {
    /// The name on the button.
    pub name: &'static str,
    /// What it speaks.
    pub kind: ProviderKind,
    /// Its issuer identifier, or address.
    pub issuer: String,
    /// The scopes.
    pub scopes: Vec<String>,
    /// How its answer comes.
    pub response_mode: ProviderResponseMode,
}

/// The tenant of everybody's own accounts at Microsoft, as its ID tokens name it.
const MICROSOFT_CONSUMERS: &str = "9188040d-6c67-4c5b-b112-36a304b66dad";

impl Preset {
    /// What it fills in. `tenant`: the directory at Microsoft.
    ///
    /// # Errors
    /// The tenant is missing, is no id, or came for another provider.
    pub fn fill(self, tenant: Option<&str>) -> Result<Filled, String> {
        if self != Self::Microsoft && tenant.is_some() {
            return Err("tenant is for the preset microsoft alone: leave it out".to_owned());
        }
        let scopes = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let openid = Filled {
            name: "",
            kind: ProviderKind::Openid,
            issuer: String::new(),
            scopes: scopes(&["openid", "email", "profile"]),
            response_mode: ProviderResponseMode::Query,
        };
        Ok(match self {
            Self::Google => {
                Filled { name: "Google", issuer: "https://accounts.google.com".to_owned(), ..openid }
            }
            Self::Microsoft => Filled { name: "Microsoft", issuer: microsoft(tenant)?, ..openid },
            // Apple posts its answer where a name or an address is asked for.
            Self::Apple => Filled {
                name: "Apple",
                issuer: "https://appleid.apple.com".to_owned(),
                scopes: scopes(&["openid", "email", "name"]),
                response_mode: ProviderResponseMode::FormPost,
                ..openid
            },
            Self::Github => Filled {
                name: "GitHub",
                kind: ProviderKind::Github,
                issuer: "https://github.com".to_owned(),
                scopes: scopes(&["read:user", "user:email"]),
                ..openid
            },
        })
    }
}

/// Microsoft's issuer names the tenant by its id. The addresses that serve several tenants (`common`, `organizations`) have no
/// issuer of their own: whoever took their tokens would take those of every tenant (OpenID Connect Discovery 4.3).
fn microsoft(tenant: Option<&str>) -> Result<String, String> {
    let mend = "give the directory (tenant) id, 32 hexadecimal digits with hyphens, or \"consumers\"";
    let tenant = match tenant {
        None => return Err(format!("tenant is missing: {mend}")),
        Some("consumers") => MICROSOFT_CONSUMERS,
        Some(tenant) => tenant,
    };
    let parts: Vec<usize> = tenant.split('-').map(str::len).collect();
    let is_hex = tenant.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
    if parts != [8, 4, 4, 4, 12] || !is_hex {
        let tenant: String = tenant.chars().take(80).collect();
        return Err(format!("tenant {tenant:?} is no id of a directory: {mend}"));
    }
    Ok(format!("https://login.microsoftonline.com/{}/v2.0", tenant.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_name_one_issuer_each() {
        assert_eq!(Preset::Google.fill(None).unwrap().issuer, "https://accounts.google.com");
        assert_eq!(Preset::Apple.fill(None).unwrap().response_mode, ProviderResponseMode::FormPost);
        assert_eq!(Preset::Github.fill(None).unwrap().kind, ProviderKind::Github);
        let microsoft = Preset::Microsoft.fill(Some("consumers")).unwrap();
        assert_eq!(microsoft.issuer, format!("https://login.microsoftonline.com/{MICROSOFT_CONSUMERS}/v2.0"));
        for bad in [None, Some("common"), Some("organizations"), Some("contoso.com"), Some("")] {
            let why = Preset::Microsoft.fill(bad).unwrap_err();
            assert!(why.starts_with("tenant") && why.contains("directory"), "{why}");
        }
        assert!(Preset::Google.fill(Some("x")).unwrap_err().contains("microsoft"));
    }
}
