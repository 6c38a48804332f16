//! The values of one visit, and texts with them in it.

use symbolon_crypto::{SystemRandom, digest, encoding, random};

use super::super::Picker;
use super::super::page::FormField;
use super::document::Span;
use super::program::{Program, Script};
use super::template::{BuiltIn, Piece, Source, Template};
use crate::client::request;
use crate::clock;
use crate::seed::Seed;

/// What was set or taken.
#[derive(Clone, Default)]
pub(super) enum Slot {
    #[default]
    Empty,
    Text(String),
    Form(FoundForm),
}

/// A form and where it goes.
#[derive(Clone, Default)]
pub(super) struct FoundForm {
    /// Path and query.
    pub(super) path: String,
    pub(super) is_post: bool,
    pub(super) fields: Vec<FormField>,
}

/// The values of one visitor.
pub(super) struct Values {
    pub(super) slots: Vec<Slot>,
    /// The row of each table.
    rows: Vec<usize>,
    /// Whose rows are dealt already.
    dealt: bool,
    /// The user of the seed.
    user: usize,
    state: String,
    nonce: String,
    verifier: String,
    challenge: String,
    picker: Picker,
}

impl Values {
    pub(super) fn new(program: &Program, index: usize) -> Self {
        Self {
            slots: vec![Slot::Empty; program.slots],
            rows: vec![0; program.tables.len()],
            dealt: false,
            user: index,
            state: String::new(),
            nonce: String::new(),
            verifier: String::new(),
            challenge: String::new(),
            picker: Picker::new(index),
        }
    }

    /// Draws what is drawn for each visit.
    pub(super) fn begin(&mut self, program: &Program, script: &Script, seed: &Seed) {
        self.slots.fill(Slot::Empty);
        self.user = self.picker.index(seed.users.len());
        self.state = random::base64url::<16>(&SystemRandom);
        self.nonce = random::base64url::<16>(&SystemRandom);
        self.verifier = random::base64url::<32>(&SystemRandom);
        self.challenge = encoding::encode(&digest::sha256(&[self.verifier.as_bytes()]));
        for (number, (table, row)) in program.tables.iter().zip(&mut self.rows).enumerate() {
            let is_due = match table.each {
                Span::Visit => script.tables.contains(&number),
                Span::Visitor => !self.dealt,
            };
            if is_due {
                *row = table.next(&mut self.picker);
            }
        }
        self.dealt = true;
    }
}

/// What texts are made of.
pub(super) struct Context<'a> {
    pub(super) program: &'a Program,
    pub(super) seed: &'a Seed,
    pub(super) values: &'a Values,
}

impl Context<'_> {
    /// The text with its values.
    pub(super) fn text(&self, template: &Template) -> String {
        let mut text = String::new();
        for piece in &template.0 {
            match piece {
                Piece::Text(literal) => text.push_str(literal),
                Piece::Value { source, encoded: false } => self.push(source, &mut text),
                Piece::Value { source, encoded: true } => {
                    let (mut value, mut bytes) = (String::new(), Vec::new());
                    self.push(source, &mut value);
                    request::encode(&mut bytes, &value);
                    text.push_str(&String::from_utf8_lossy(&bytes));
                }
            }
        }
        text
    }

    fn push(&self, source: &Source, text: &mut String) {
        match source {
            Source::Constant(value) => text.push_str(value.expose()),
            Source::Data(table, column) => {
                let row = self.values.rows.get(*table).copied().unwrap_or_default();
                text.push_str(self.program.tables.get(*table).map_or("", |table| table.value(row, *column)));
            }
            Source::Slot(slot) => {
                if let Some(Slot::Text(value)) = self.values.slots.get(*slot) {
                    text.push_str(value);
                }
            }
            Source::FormAction(slot) => text.push_str(self.form(*slot).map_or("", |form| &*form.path)),
            Source::FormField(slot, name) => {
                let fields = self.form(*slot).map_or(&[][..], |form| form.fields.as_slice());
                let field = fields.iter().find(|field| field.name == *name);
                text.push_str(field.map_or("", |field| &*field.value));
            }
            Source::BuiltIn(built_in) => self.push_built_in(*built_in, text),
        }
    }

    /// A form that was taken.
    pub(super) fn form(&self, slot: usize) -> Option<&FoundForm> {
        match self.values.slots.get(slot) {
            Some(Slot::Form(form)) => Some(form),
            _ => None,
        }
    }

    fn push_built_in(&self, built_in: BuiltIn, text: &mut String) {
        let (seed, values) = (self.seed, self.values);
        let endpoints = &seed.target.endpoints;
        let user = seed.users.get(values.user);
        text.push_str(match built_in {
            BuiltIn::State => &values.state,
            BuiltIn::Nonce => &values.nonce,
            BuiltIn::Verifier => &values.verifier,
            BuiltIn::Challenge => &values.challenge,
            BuiltIn::Now => return text.push_str(&clock::unix_seconds().to_string()),
            BuiltIn::RandomHex => return text.push_str(&hex(&random::bytes::<16>(&SystemRandom))),
            BuiltIn::RandomUuid => return text.push_str(&uuid()),
            BuiltIn::RandomNumber => {
                let drawn = u64::from_le_bytes(random::bytes::<8>(&SystemRandom));
                return text.push_str(&(drawn % 1_000_000_000).to_string());
            }
            BuiltIn::Issuer => &seed.target.issuer,
            BuiltIn::Discovery => &endpoints.discovery,
            BuiltIn::Authorize => &endpoints.authorize,
            BuiltIn::Token => &endpoints.token,
            BuiltIn::Userinfo => endpoints.userinfo.as_deref().unwrap_or_default(),
            BuiltIn::Introspect => endpoints.introspect.as_deref().unwrap_or_default(),
            BuiltIn::Revoke => endpoints.revoke.as_deref().unwrap_or_default(),
            BuiltIn::Jwks => endpoints.jwks.as_deref().unwrap_or_default(),
            BuiltIn::ClientId => &seed.client.id,
            BuiltIn::ClientSecret => seed.client.secret.expose(),
            BuiltIn::RedirectUri => &seed.client.redirect_uri,
            BuiltIn::Username => user.map_or("", |user| &*user.username),
            BuiltIn::UserId => user.map_or("", |user| &*user.id),
            BuiltIn::Password => seed.password.expose(),
        });
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// RFC 9562 5.4.
fn uuid() -> String {
    let mut bytes = random::bytes::<16>(&SystemRandom);
    let [.., version, _, variant, _, _, _, _, _, _, _] = &mut bytes;
    *version = (*version & 0x0F) | 0x40;
    *variant = (*variant & 0x3F) | 0x80;
    let digits = hex(&bytes);
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_says_that_it_is_random() {
        let drawn = uuid();
        let parts: Vec<_> = drawn.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12]);
        assert!(drawn[14..15] == *"4" && "89ab".contains(&drawn[19..20]), "{drawn}");
        assert_ne!(drawn, uuid());
    }
}
