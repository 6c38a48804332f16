//! Identifiers and refresh tokens: texts that name the place of a record.

use symbolon_crypto::digest::HmacKey;
use symbolon_protocol::family::FamilyId;
use symbolon_protocol::grant::GrantId;
use symbolon_protocol::id::{ClientId, IssuerId, Jti, Kid, Sid, UserId};
use symbolon_protocol::session::SessionId;
use symbolon_protocol::token::refresh_token::{mint, parse_and_authenticate};
use symbolon_store::shard::{Route, ShardKind, record_key, session_of_sid, sid_of};

/// Ids: each id has one text, so that what was ended under one text cannot be used under another.
pub fn ids(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let issuer = IssuerId::default_issuer();
    if let Some(grant) = GrantId::parse(text) {
        let tail = &text[text.len() - 22..];
        assert_eq!(grant.to_string(), format!("gr_{}_{}_{tail}", grant.slot().number(), grant.at().millis()));
        assert_eq!(grant.to_string(), text);
    }
    for kind in ShardKind::ALL {
        if let Some(route) = Route::of_id(kind, text) {
            assert!(route.generation > 0);
            let head = format!("{}_{}_", route.generation, route.shard);
            assert!(text[3..].starts_with(&head), "{text}: two texts for one place");
        }
    }
    if let Some((route, key)) = session_of_sid(text) {
        let key = symbolon_crypto::encoding::encode(&key);
        assert_eq!(text, format!("{}_{}_{key}", route.generation, route.shard));
    }
    let sid = sid_of(&issuer, &SessionId::new(text));
    let (route, key) = session_of_sid(sid.as_str()).expect("a sid of ours");
    assert_eq!(key, record_key(&issuer, text));
    assert_eq!(route, Route::of_id(ShardKind::Session, text).unwrap_or_else(|| Route::hashed(&issuer, text)));
    for (parsed, most) in [
        (ClientId::parse(text).map(|id| id.as_str() == text), 255),
        (UserId::parse(text).map(|id| id.as_str() == text), 255),
        (Sid::parse(text).map(|id| id.as_str() == text), 255),
        (Kid::parse(text).map(|id| id.as_str() == text), 255),
        (Jti::parse(text).map(|id| id.as_str() == text), 512),
        (IssuerId::parse(text).map(|id| id.as_str() == text), 32),
    ] {
        assert!(parsed.is_err() || (parsed == Ok(true) && !text.is_empty() && text.len() <= most));
    }
}

/// A refresh token: only minted ones are read, and unchanged.
pub fn refresh_token(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (issuer, key) = (IssuerId::default_issuer(), HmacKey::new(&[9; 32]));
    if let Some((id, version)) = parse_and_authenticate(&issuer, text, &key) {
        assert_eq!(mint(&issuer, &id, version, &key).expose(), text, "two texts for one token");
    }
    // The bytes as generation, shard, version and name.
    let Some((numbers, rest)) = data.split_first_chunk::<12>() else { return };
    let number =
        |at: usize| u32::from_be_bytes([numbers[at], numbers[at + 1], numbers[at + 2], numbers[at + 3]]);
    let Some((name, change)) = rest.split_first_chunk::<16>() else { return };
    let id = FamilyId {
        generation: number(0),
        shard: number(4),
        name: symbolon_crypto::encoding::encode(name).into(),
    };
    let token = mint(&issuer, &id, number(8), &key);
    assert_eq!(parse_and_authenticate(&issuer, token.expose(), &key), Some((id, number(8))));
    if let Some((at, byte)) = change.first().zip(change.get(1)).filter(|(_, byte)| byte.is_ascii()) {
        let mut bytes = token.expose().as_bytes().to_vec();
        let at = usize::from(*at) % bytes.len();
        let changed = bytes[at] != *byte;
        bytes[at] = *byte;
        let text = String::from_utf8(bytes).expect("ASCII");
        assert!(!changed || parse_and_authenticate(&issuer, &text, &key).is_none(), "a forged token: {text}");
    }
}
