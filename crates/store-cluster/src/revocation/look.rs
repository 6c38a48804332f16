//! Reads the tombstones of everything whose end revokes a token, with one MGET.

use std::io::Write;

use redis::{Cmd, RedisWrite, Value};
use symbolon_protocol::grant::Lineage;
use symbolon_protocol::id::IssuerId;

use super::row::{CLIENT, CONSENT, GRANT, ISSUER, SESSION, TOKEN, USER, capped};
use crate::redis::Tag;

/// Initial capacity for one key, so that a command's buffer grows once at most.
const KEY: usize = 96;

/// A prepared MGET, which can be sent again.
pub(super) struct Look {
    pub(super) cmd: Cmd,
    /// How many keys, from the second one on, revoke the token if they exist, whatever their value.
    certain: usize,
    /// [`Lineage::born`], with which the values of the other keys are compared.
    born: u64,
}

impl Look {
    /// Asks for the complete primary of the slot and for the tombstones of everything in the lineage.
    pub(super) fn at(tag: &Tag, issuer: &IssuerId, lineage: &Lineage) -> Self {
        let most = lineage.tokens.len() + 9;
        let mut cmd = Cmd::with_capacity(most, most * KEY);
        cmd.arg("MGET");
        let mut ask = |parts: &[&str]| {
            let mut key = cmd.writer_for_next_arg();
            for part in [tag.as_str()].iter().chain(parts) {
                // Writing to memory does not fail.
                let _ = key.write_all(part.as_bytes());
            }
        };
        ask(&["e:"]);
        let issuer = issuer.as_str();
        for token in &lineage.tokens {
            ask(&[TOKEN, issuer, ":", token.as_str()]);
        }
        if let Some(grant) = &lineage.grant {
            ask(&[GRANT, issuer, ":", grant.text().as_str()]);
        }
        if let Some(session) = &lineage.session {
            ask(&[SESSION, issuer, ":", session.as_str()]);
        }
        if let Some(user) = &lineage.user {
            ask(&[USER, issuer, ":", user.as_str()]);
        }
        if let Some((user, client)) = lineage.consent() {
            ask(&[CONSENT, issuer, ":", user.as_str(), " ", client.as_str()]);
        }
        for client in lineage.clients() {
            ask(&[CLIENT, issuer, ":", client.as_str()]);
        }
        ask(&[ISSUER, issuer, ":"]);
        let certain = lineage.tokens.len() + usize::from(lineage.grant.is_some());
        Self { cmd, certain, born: capped(lineage.born) }
    }

    /// The run id of the complete primary, and whether anything in the lineage has ended. `None` if the answer is not
    /// one to this command.
    pub(super) fn read<'a>(&self, answer: &'a Value) -> Option<(Option<&'a [u8]>, bool)> {
        let Value::Array(values) = answer else { return None };
        let (complete, marks) = values.split_first()?;
        let (certain, others) = marks.split_at_checked(self.certain)?;
        let ended =
            certain.iter().any(|mark| *mark != Value::Nil) || others.iter().any(|mark| self.ends(mark));
        Some((text(complete), ended))
    }

    fn ends(&self, mark: &Value) -> bool {
        if *mark == Value::Nil {
            return false;
        }
        let not_before = text(mark).and_then(|text| std::str::from_utf8(text).ok()?.parse().ok());
        // A value that cannot be read counts as a revocation.
        not_before.is_none_or(|not_before: u64| self.born <= not_before)
    }
}

fn text(value: &Value) -> Option<&[u8]> {
    match value {
        Value::BulkString(text) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use redis::Arg;
    use symbolon_protocol::grant::{GrantId, Slot};
    use symbolon_protocol::id::{ClientId, Jti, Sid, UserId};
    use symbolon_protocol::revocation::{Target, Tombstone};
    use symbolon_protocol::time::Timestamp;

    use super::super::row::Row;
    use super::*;
    use crate::redis::Tags;

    fn lineage() -> Lineage {
        let grant = GrantId::parse("gr_7_5_aaaaaaaaaaaaaaaaaaaaag").unwrap();
        Lineage {
            slot: grant.slot(),
            tokens: vec![Jti::parse("own").unwrap(), Jti::parse("parent").unwrap()],
            grant: Some(grant),
            session: Some(Sid::trusted("sid")),
            user: Some(UserId::parse("user").unwrap()),
            client: Some(ClientId::parse("client").unwrap()),
            grantor: Some(ClientId::parse("grantor").unwrap()),
            born: Timestamp::from_millis(100),
            issued: None,
        }
    }

    #[test]
    fn the_keys_are_those_that_tombstones_are_written_under() {
        let (issuer, tags, lineage) = (IssuerId::default_issuer(), Tags::new("p"), lineage());
        let tag = tags.slot(lineage.slot);
        let targets = [
            Target::Token(lineage.tokens[0].clone()),
            Target::Token(lineage.tokens[1].clone()),
            Target::Grant(lineage.grant.unwrap()),
            Target::Session(lineage.session.clone().unwrap()),
            Target::User(lineage.user.clone().unwrap()),
            Target::Consent(lineage.user.clone().unwrap(), lineage.grantor.clone().unwrap()),
            Target::Client(lineage.client.clone().unwrap()),
            Target::Client(lineage.grantor.clone().unwrap()),
            Target::Issuer,
        ];
        let written = targets.map(|target| {
            let tombstone = Tombstone::up_to(target, Slot::new(7), lineage.born, lineage.born);
            tag.followed_by(&Row::of(&issuer, &tombstone).id).as_bytes().to_vec()
        });
        let asked: Vec<Vec<u8>> = Look::at(tag, &issuer, &lineage)
            .cmd
            .args_iter()
            .map(|arg| if let Arg::Simple(arg) = arg { arg.to_vec() } else { Vec::new() })
            .collect();
        assert_eq!(asked[..2], [b"MGET".to_vec(), tag.complete_primary().as_bytes().to_vec()]);
        assert_eq!(asked[2..], written);
    }

    #[test]
    fn an_answer_is_compared_with_the_birth() {
        let (issuer, tags, lineage) = (IssuerId::default_issuer(), Tags::new("p"), lineage());
        let look = Look::at(tags.slot(lineage.slot), &issuer, &lineage);
        let ended = |index: usize, text: &str| {
            let mut values = vec![Value::Nil; 10];
            values[index] = Value::BulkString(text.as_bytes().to_vec());
            let answer = Value::Array(values);
            let (complete, ended) = look.read(&answer).unwrap();
            (complete.map(<[u8]>::to_vec), ended)
        };
        assert_eq!(ended(0, "abc"), (Some(b"abc".to_vec()), false));
        for index in 1..=3 {
            assert!(ended(index, "1").1, "a token or a grant ends, whenever it was born");
        }
        for index in 4..=9 {
            assert_eq!(
                [ended(index, "99").1, ended(index, "100").1, ended(index, "101").1],
                [false, true, true]
            );
            assert!(ended(index, "?").1, "any doubt is revoked");
        }
        assert!(look.read(&Value::Nil).is_none());
    }
}
