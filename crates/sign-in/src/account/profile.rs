//! The person's profile: name parts, the language of mail, and the attributes that the issuer's schema lets the person write.

use axum::response::Response;
use serde_json::{Map, Value, json};
use symbolon_pages::{
    AccountNotice, AccountPlace, AttributeField, AttributeInput, Language, ProfileField, ProfilePage,
};
use symbolon_protocol::attribute::{
    AttributeDefinition, AttributeSchema, AttributeType, AttributeValue, Attributes, Party,
};
use symbolon_protocol::event::Event;
use symbolon_protocol::params::Params;
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::ui_locale::UiLocale;
use symbolon_protocol::user::{Profile, User, is_claim_text};
use symbolon_store::StoreError;

use super::{Person, Visitor, by_themselves, done, form, status, told, visitor};
use crate::sign_in_goal::Freshness;
use symbolon_app::audit::ChangedFields;
use symbolon_app::http::language::page_language;
use symbolon_app::http::{Call, Failure};

const PLACE: AccountPlace = AccountPlace::Profile;

/// Whoever uses these pages.
const BY: Party = Party::Person;

/// The claims that the person writes.
const CLAIMS: [&str; 5] = ["name", "given_name", "family_name", "middle_name", "nickname"];

/// The beginning of the fields for attributes.
const PREFIX: &str = "attribute.";

/// `GET /account/profile`.
///
/// # Errors
/// [`Failure`]
pub(in super::super) async fn show(call: &mut Call) -> Result<Response, Failure> {
    match visitor(call, PLACE, Freshness::Any).await? {
        Visitor::Person(person) => page(call, &person, &person.user, told(call)),
        Visitor::Stranger(answer) => Ok(answer),
    }
}

/// `POST /account/profile`.
///
/// # Errors
/// [`Failure`]
pub(in super::super) async fn submit(call: &mut Call) -> Result<Response, Failure> {
    let person = match visitor(call, PLACE, Freshness::Any).await? {
        Visitor::Person(person) => person,
        Visitor::Stranger(answer) => return Ok(answer),
    };
    let form = form(call);
    let params = Params::of_form(&form)?;
    let settings = call.context.issuer.settings.load_full();
    let mut written = User::clone(&person.user);
    let fault = match typed(&params, &mut written, &settings.attributes)? {
        Err(notice) => Some(notice),
        Ok(()) if !person.accepts(call, &params, PLACE)? => Some(AccountNotice::Expired),
        Ok(()) => save(call, &person, &params, &mut written).await?,
    };
    match fault {
        None => Ok(done(call, PLACE, &AccountNotice::Saved)),
        // As it is stored now; what was typed would overwrite what somebody else changed.
        Some(AccountNotice::ChangedMeanwhile) => {
            let person = match visitor(call, PLACE, Freshness::Any).await? {
                Visitor::Person(person) => person,
                Visitor::Stranger(answer) => return Ok(answer),
            };
            page(call, &person, &person.user, Some(AccountNotice::ChangedMeanwhile))
        }
        Some(notice) => page(call, &person, &written, Some(notice)),
    }
}

/// Writes what was typed into a user's record.
fn typed(
    params: &Params<'_>,
    user: &mut User,
    schema: &AttributeSchema,
) -> Result<Result<(), AccountNotice>, Failure> {
    let mut fault = None;
    for name in CLAIMS {
        let Some(text) = params.get(name)? else { continue };
        let text = text.trim();
        if !is_claim_text(text) {
            fault.get_or_insert(AccountNotice::BadText);
            continue;
        }
        if let Some(claim) = claim(&mut user.profile, name) {
            *claim = (!text.is_empty()).then(|| text.to_owned());
        }
    }
    if let Some(tag) = params.get("locale")? {
        let chosen = UiLocale::lookup(tag);
        // What the page showed is no change: neither `de` of `de-AT`, nor none of a language in which nobody writes here.
        if chosen != mail_locale(&user.profile) {
            user.profile.locale = chosen.map(|locale| locale.tag().to_owned());
        }
    }
    for definition in schema.definitions().iter().filter(|own| own.writable_by.contains(&BY)) {
        let Some(text) = params.get(&format!("{PREFIX}{}", definition.name))? else { continue };
        // A value that the person may not see is not in the form, so an empty field keeps it.
        if text.trim().is_empty() && !definition.readable_by.contains(&BY) {
            continue;
        }
        match value_of(definition, text) {
            Ok(Some(value)) => drop(user.profile.attributes.insert(definition.name.clone(), value)),
            Ok(None) => drop(user.profile.attributes.remove(&definition.name)),
            Err(notice) => drop(fault.get_or_insert(notice)),
        }
    }
    Ok(fault.map_or(Ok(()), Err))
}

fn claim<'a>(profile: &'a mut Profile, name: &str) -> Option<&'a mut Option<String>> {
    Some(match name {
        "name" => &mut profile.name,
        "given_name" => &mut profile.given_name,
        "family_name" => &mut profile.family_name,
        "middle_name" => &mut profile.middle_name,
        "nickname" => &mut profile.nickname,
        _ => return None,
    })
}

/// The language in which mail to a person is written by their profile; `None` if it says none that there is.
fn mail_locale(profile: &Profile) -> Option<UiLocale> {
    UiLocale::lookup(&profile.locale.as_deref()?.replace('_', "-"))
}

/// The value that was typed for an attribute; `None` if nothing was.
fn value_of(definition: &AttributeDefinition, text: &str) -> Result<Option<AttributeValue>, AccountNotice> {
    // Browsers end the lines of a text with CR and LF (HTML, "constructing the entry list").
    let text = text.replace("\r\n", "\n");
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    if definition.kind == AttributeType::List {
        let items = text.lines().map(str::trim).filter(|item| !item.is_empty());
        return Ok(Some(AttributeValue::List(items.map(str::to_owned).collect())));
    }
    match definition.kind.value_of(text) {
        Ok(value) => Ok(Some(value)),
        Err(fault) => Err(AccountNotice::Invalid(format!("{} {fault}", definition.name))),
    }
}

/// Saves what was typed. Returns what prevents it.
async fn save(
    call: &mut Call,
    person: &Person,
    params: &Params<'_>,
    written: &mut User,
) -> Result<Option<AccountNotice>, Failure> {
    let (context, before) = (&call.context, &person.user);
    if *written == **before {
        // Nothing was changed, or the form was sent twice.
        return Ok(None);
    }
    if params.get("seen")?.and_then(|seen| seen.parse().ok()) != Some(before.updated_at.millis()) {
        return Ok(Some(AccountNotice::ChangedMeanwhile));
    }
    let settings = context.issuer.settings.load_full();
    let (new, stored) = (&written.profile.attributes, &before.profile.attributes);
    if let Err(error) = settings.attributes.check(new, Some(stored), BY) {
        return Ok(Some(AccountNotice::Invalid(error.to_string())));
    }
    // Always later than before, even if the clock has not advanced: the store detects lost races by it.
    let next = Timestamp::from_millis(before.updated_at.millis().saturating_add(1));
    written.updated_at = context.app.now().max(next);
    match context.app.store.update_user(&context.issuer.id, written.clone(), before.updated_at).await {
        Ok(true) => {}
        Ok(false) => return Ok(Some(AccountNotice::ChangedMeanwhile)),
        Err(StoreError::Conflict) => {
            let now = context.app.store.user(&context.issuer.id, &before.id).await?;
            let is_overtaken = now.is_none_or(|now| now.updated_at != before.updated_at);
            return Ok(Some(if is_overtaken {
                AccountNotice::ChangedMeanwhile
            } else {
                AccountNotice::Taken
            }));
        }
        Err(error) => return Err(error.into()),
    }
    let detail = changes(before, written, &settings.attributes).onto(by_themselves(json!({})));
    context.audit_change(Event::UserUpdated, &before.id, None, detail);
    Ok(None)
}

/// What the audit log says of the change. Administrators read it, so of attributes that they may not see it says only
/// that they changed.
fn changes(before: &User, after: &User, schema: &AttributeSchema) -> ChangedFields {
    let visible = |attributes: &Attributes| -> Map<String, Value> {
        let shown = schema.shown_to(Party::Administrator, attributes);
        shown.map(|(name, value)| (name.to_string(), json!(value))).collect()
    };
    let record = |user: &User| {
        let mut record = json!(user);
        if let Value::Object(members) = &mut record {
            members.insert("attributes".to_owned(), Value::Object(visible(&user.profile.attributes)));
        }
        record
    };
    let (old, new) = (&before.profile.attributes, &after.profile.attributes);
    let unseen = schema.definitions().iter().filter(|own| {
        !own.readable_by.contains(&Party::Administrator) && old.get(&own.name) != new.get(&own.name)
    });
    let changed = ChangedFields::between(&record(before), &record(after));
    unseen.fold(changed, |changed, own| changed.with_untold(format!("attributes.{}", own.name)))
}

fn page(
    call: &Call,
    person: &Person,
    shown: &User,
    notice: Option<AccountNotice>,
) -> Result<Response, Failure> {
    let context = &call.context;
    let settings = context.issuer.settings.load_full();
    let mut profile = shown.profile.clone();
    let fields = CLAIMS.map(|name| ProfileField {
        name,
        value: claim(&mut profile, name).and_then(|claim| claim.clone()).unwrap_or_default(),
    });
    let status = status(notice.as_ref());
    let attributes = settings.attributes.definitions().iter();
    let page = ProfilePage {
        language: person.language,
        issuer_name: context.issuer.display_name(),
        frame: person.frame(context, PLACE, notice),
        email: shown.email.clone(),
        email_verified: shown.email_verified,
        fields: fields.into(),
        mail_language: mail_locale(&shown.profile).map(page_language),
        attributes: attributes.filter_map(|own| field(own, shown, person.language)).collect(),
        seen: person.user.updated_at.millis(),
    };
    person.page(context, status, page.render_for(&context.issuer.prefix, &context.issuer.brand()))
}

/// How an attribute is shown; `None` if the person may neither see nor write it.
fn field(definition: &AttributeDefinition, user: &User, language: Language) -> Option<AttributeField> {
    let is_readable = definition.readable_by.contains(&BY);
    let is_writable = definition.writable_by.contains(&BY);
    let stored = user.profile.attributes.get(&definition.name).filter(|_| is_readable);
    let value = match stored {
        Some(AttributeValue::Text(text)) => text.clone(),
        Some(AttributeValue::Number(number)) => number.to_string(),
        Some(AttributeValue::Boolean(flag)) => flag.to_string(),
        Some(AttributeValue::List(items)) => items.join("\n"),
        None => String::new(),
    };
    let input = match definition.kind {
        AttributeType::String if value.contains('\n') => AttributeInput::Lines,
        AttributeType::String | AttributeType::Aggregated => AttributeInput::Text,
        AttributeType::Number => AttributeInput::Number,
        AttributeType::Boolean => AttributeInput::Flag,
        AttributeType::List => AttributeInput::List,
        AttributeType::Date => AttributeInput::Date,
    };
    let is_required = definition.required;
    (is_readable || is_writable).then(|| AttributeField {
        name: definition.name.to_string(),
        label: definition.label(language.tag()).to_owned(),
        input,
        value,
        is_writable,
        is_readable,
        is_required,
    })
}
