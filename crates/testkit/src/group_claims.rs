//! Groups of every seeded user, and definitions of claims that tell of them: for counting and measuring what a refresh takes
//! with them.

use serde_json::{Value, json};
use symbolon_loadtest::LoadtestError;
use symbolon_loadtest::seed::Seed;

use crate::browser::Browser;

/// The groups that each user is in.
const GROUPS: usize = 20;

/// An expression that goes through the groups.
pub(crate) const LOOP: &str = "groups.map(g, 'oidc:' + g)";

/// The admin API of a server.
pub(crate) struct GroupClaims<'a> {
    /// The URL of the server, whose public listener has the admin API.
    pub(crate) url: &'a str,
    /// The admin secret.
    pub(crate) secret: &'a str,
}

impl GroupClaims<'_> {
    /// Puts the users of a seed into [`GROUPS`] groups.
    ///
    /// # Errors
    /// [`LoadtestError::Refused`] if the server does not take them.
    pub(crate) fn plant(&self, seed: &Seed) -> Result<(), LoadtestError> {
        let id = |group: usize| format!("team-{group}");
        let groups = (0..GROUPS).map(|n| json!({ "id": id(n), "name": format!("app:team-of-{n:02}") }));
        self.send("POST", "/groups/bulk", &lines(groups))?;
        for user in &seed.users {
            let of_user = (0..GROUPS).map(|n| json!({ "group_id": id(n), "user_id": &*user.id }));
            self.send("POST", "/memberships/bulk", &lines(of_user))?;
        }
        Ok(())
    }

    /// Changes settings of a client.
    ///
    /// # Errors
    /// [`LoadtestError::Refused`] if the server does not take them.
    pub(crate) fn set(&self, client: &str, settings: &Value) -> Result<(), LoadtestError> {
        let body = json!({ "settings": settings }).to_string();
        self.send("PATCH", &format!("/clients/{client}"), &body)
    }

    fn send(&self, method: &str, path: &str, body: &str) -> Result<(), LoadtestError> {
        let authorization = format!("Bearer {}", self.secret);
        let media_type = if path.ends_with("/bulk") { "application/x-ndjson" } else { "application/json" };
        let headers = [("authorization", &*authorization), ("content-type", media_type)];
        let answer =
            Browser::new(self.url).send(method, &format!("/api/admin{path}"), &headers, body.as_bytes());
        match answer.status {
            200 if !answer.body.contains("\"error\"") => Ok(()),
            status => Err(LoadtestError::Refused { what: "groups and claims", status, detail: answer.body }),
        }
    }
}

/// Settings of a client whose ID tokens carry `groups`, whatever the scope, and a claim by an expression.
pub(crate) fn settings(expression: Option<&str>) -> Value {
    let mut claims = vec![json!({ "name": "groups", "source": "groups", "destinations": ["id_token"] })];
    let computed = |text| json!({ "name": "computed", "expression": text, "destinations": ["id_token"] });
    claims.extend(expression.map(computed));
    json!({ "claims": claims })
}

/// Takes the settings back.
pub(crate) fn no_settings() -> Value {
    json!({ "claims": null })
}

fn lines(records: impl Iterator<Item = Value>) -> String {
    records.map(|record| record.to_string() + "\n").collect()
}
