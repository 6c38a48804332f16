//! Fuzz targets for the input of the admin API.

use symbolon_crypto::SeededRandom;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::settings::IssuerSettings;
use symbolon_protocol::time::Timestamp;
use url::Url;

use crate::bulk::lines::{Lines, MAX_LINE};
use crate::call::parse_object;
use crate::fields::Fields;
use crate::issuers;
use crate::settings::rule;
use crate::users::{self, Described, GivenPassword};

/// A user's JSON: either it becomes a record that reads the same when shown and read again, or the error names a
/// member.
pub fn user_fields(data: &[u8]) {
    let Ok(object) = parse_object(data) else { return };
    let mut fields = Fields::new(object);
    let random = SeededRandom::new(1);
    let read = (|| {
        let id = users::id(&mut fields, &random)?;
        let password = users::password(&mut fields)?;
        Ok::<_, super::error::AdminError>((id, password, Described::read(&mut fields)?))
    })();
    let (id, password, described) = match read {
        Ok(read) => read,
        Err(error) => {
            assert!(error.told().0.starts_with("invalid"), "another refusal than 400");
            return;
        }
    };
    if let GivenPassword::Plain(password) = &password {
        assert!(password.expose().len() >= 8);
    }
    let user = described.into_user(id, Timestamp::from_seconds(1));
    let again = Described::read(&mut Fields::new(users::view(&user)))
        .map(|it| it.into_user(user.id.clone(), user.created_at));
    assert!(again.is_ok_and(|again| again == user), "what is shown is not what is read");
}

/// An issuer's JSON: an accepted URL is valid for discovery, cookies and routes, and in normal form.
pub fn issuer_fields(data: &[u8]) {
    let Ok(object) = parse_object(data) else { return };
    let Ok((id, url)) = issuers::read(Fields::new(object)) else { return };
    assert!(IssuerId::parse(id.as_str()).is_ok());
    let parsed = Url::parse(&url);
    assert!(parsed.is_ok(), "{url}: {parsed:?}");
    let Ok(parsed) = parsed else { return };
    assert!(matches!(parsed.scheme(), "http" | "https") && parsed.host().is_some(), "{url}");
    assert!(parsed.query().is_none() && parsed.fragment().is_none() && parsed.username().is_empty(), "{url}");
    assert!(parsed.as_str() == url || parsed.as_str() == format!("{url}/"), "{url}: another spelling");
    let path = url.get(parsed.origin().ascii_serialization().len()..).unwrap_or("?");
    assert!(path.is_empty() || (path.starts_with('/') && !path.contains("//")), "{url}");
    assert!(!path.contains(['%', ';', ',', ' ', '"', '\\']), "{url}: no path of a cookie");
    assert!(!path.split('/').any(|segment| matches!(segment, "." | "..")), "{url}");
}

/// Settings: accepted ones are within their bounds and survive being written and read again.
pub fn settings(data: &[u8]) {
    let Ok(object) = parse_object(data) else { return };
    let Ok(read) = rule::read(rule::document(&IssuerSettings::default()), object) else { return };
    if rule::check(&read).is_err() {
        return;
    }
    assert!(read.lifetimes.code.as_secs() >= 1 && read.lifetimes.code.as_secs() <= 600);
    let document = rule::document(&read);
    let again = rule::read(document.clone(), document).ok();
    assert_eq!(again.as_ref(), Some(&read), "what is shown is not what is read");
}

/// NDJSON: the first byte decides how the rest is split into pieces. The lines are the same however the input is
/// split, in order, and none is longer than allowed.
pub fn ndjson(data: &[u8]) {
    let Some((size, text)) = data.split_first() else { return };
    let cut = |parts: &mut dyn Iterator<Item = &[u8]>| {
        let (mut lines, mut out) = (Lines::default(), Vec::new());
        parts.for_each(|part| lines.push(part, |line| out.push((line.number, line.bytes))));
        lines.finish(|line| out.push((line.number, line.bytes)));
        out
    };
    let whole = cut(&mut std::iter::once(text));
    assert!(cut(&mut text.chunks(usize::from(*size).max(1))) == whole, "lines depend on how they arrive");
    let mut last = 0;
    for (number, bytes) in whole {
        assert!(number > last, "lines out of order");
        last = number;
        if let Some(bytes) = bytes {
            assert!(!bytes.is_empty() && bytes.len() <= MAX_LINE && !bytes.contains(&b'\n'));
        }
    }
}
