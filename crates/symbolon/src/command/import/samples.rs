//! A small export of each kind, with something of everything that the readers look at.

/// Every kind of file.
pub(super) const ALL: [(&str, &str); 8] = [
    ("keycloak", KEYCLOAK),
    ("authentik", AUTHENTIK),
    ("auth0", AUTH0),
    ("firebase", FIREBASE),
    ("cognito", COGNITO),
    ("cognito", COGNITO_TABLE),
    ("csv", TABLE),
    ("symbolon", OWN),
];

pub(super) const KEYCLOAK: &str = r#"{
  "realm": "acme", "enabled": true,
  "identityProviders": [{ "alias": "google" }],
  "roles": {
    "realm": [
      { "id": "r-default", "name": "default-roles-acme", "composite": true, "composites": { "realm": ["offline_access", "reader"], "client": { "account": ["view-profile"] } } },
      { "id": "r-offline", "name": "offline_access", "description": "${role_offline-access}" },
      { "id": "r-admin", "name": "admin", "description": "All", "composite": true, "composites": { "realm": ["reader", "admin"], "client": { "wiki": ["editor"] } } },
      { "id": "r-reader", "name": "reader" }
    ],
    "client": { "wiki": [{ "id": "r-editor", "name": "editor" }], "account": [{ "id": "r-view", "name": "view-profile" }] }
  },
  "groups": [
    { "id": "g-sales", "name": "Sales", "path": "/Sales", "attributes": { "site": ["Vienna"] }, "realmRoles": ["reader"],
      "subGroups": [{ "id": "g-leads", "name": "Leads", "path": "/Sales/Leads", "subGroups": [] }] },
    { "id": "g-it", "name": "IT", "path": "/IT", "clientRoles": { "wiki": ["editor"] },
      "subGroups": [{ "id": "g-it-leads", "name": "leads", "path": "/IT/leads", "subGroups": [] }] }
  ],
  "users": [
    { "id": "u-ann", "username": "ann", "enabled": true, "emailVerified": true, "firstName": "Ann", "lastName": "Ash", "email": "ann@example.com",
      "attributes": { "department": ["IT"], "locale": ["de"], "street": ["Ring 1"], "country": ["AT"] },
      "credentials": [{ "type": "password", "secretData": "{\"value\":\"hVZ9fMRCSyEXdkpMhAPE5JQ6DqJbgnBj0yRcbT4VZVU=\",\"salt\":\"AAECAwQFBgcICQoLDA0ODw==\"}", "credentialData": "{\"hashIterations\":1000,\"algorithm\":\"pbkdf2-sha256\"}" }, { "type": "otp" }],
      "realmRoles": ["default-roles-acme", "admin"], "clientRoles": { "account": ["view-profile"] }, "groups": ["/IT", "/Sales/Leads"] },
    { "id": "u-bob", "username": "bob", "enabled": false, "email": "bob@example.com", "realmRoles": ["nobody"], "groups": ["/Gone"], "requiredActions": ["UPDATE_PASSWORD"] },
    { "id": "u-cat", "username": "cat", "email": "ann@example.com" },
    { "id": "u-dan", "username": "dan", "credentials": [{ "type": "password", "secretData": "{\"value\":\"AAEC\"}", "credentialData": "{\"algorithm\":\"md5\",\"hashIterations\":1}" }] },
    { "id": "u-svc", "username": "service-account-wiki", "serviceAccountClientId": "wiki", "realmRoles": ["default-roles-acme", "admin"] }
  ],
  "clients": [
    { "clientId": "account", "name": "${client_account}" },
    { "clientId": "wiki", "name": "Wiki", "secret": "0123456789abcdef0123456789abcdef", "rootUrl": "https://wiki.example.com", "baseUrl": "/start",
      "redirectUris": ["/callback", "https://wiki.example.com/*"], "webOrigins": ["+", "https://app.example.com"],
      "standardFlowEnabled": true, "directAccessGrantsEnabled": true, "serviceAccountsEnabled": true, "publicClient": false,
      "attributes": { "post.logout.redirect.uris": "+", "access.token.lifespan": "300", "pkce.code.challenge.method": "S256" },
      "defaultClientScopes": ["web-origins", "profile", "email", "roles", "team"], "optionalClientScopes": ["offline_access"],
      "protocolMappers": [
        { "name": "department", "protocolMapper": "oidc-usermodel-attribute-mapper", "config": { "claim.name": "department", "user.attribute": "department", "id.token.claim": "true" } },
        { "name": "again", "protocolMapper": "oidc-hardcoded-claim-mapper", "config": { "claim.name": "department", "claim.value": "x", "id.token.claim": "true" } },
        { "name": "aud", "protocolMapper": "oidc-audience-mapper", "config": { "included.custom.audience": "https://api.example.com", "access.token.claim": "true" } }] },
    { "clientId": "spa", "publicClient": true, "redirectUris": ["https://spa.example.com/"], "webOrigins": ["*"], "attributes": {} },
    { "clientId": "masked", "secret": "**********", "redirectUris": ["https://masked.example.com/cb"] },
    { "clientId": "old", "enabled": false },
    { "clientId": "saml", "protocol": "saml" }
  ],
  "clientScopes": [
    { "name": "profile", "protocolMappers": [{ "name": "x", "protocolMapper": "oidc-hardcoded-claim-mapper", "config": { "claim.name": "x" } }] },
    { "name": "roles", "protocolMappers": [
      { "name": "client roles", "protocolMapper": "oidc-usermodel-client-role-mapper", "config": { "claim.name": "resource_access.${client_id}.roles", "access.token.claim": "true", "multivalued": "true" } },
      { "name": "realm roles", "protocolMapper": "oidc-usermodel-realm-role-mapper", "config": { "claim.name": "realm_access.roles", "access.token.claim": "true", "multivalued": "true" } } ] },
    { "name": "team", "protocolMappers": [
      { "name": "groups", "protocolMapper": "oidc-group-membership-mapper", "config": { "claim.name": "groups", "full.path": "false" } },
      { "name": "tier", "protocolMapper": "oidc-hardcoded-claim-mapper", "config": { "claim.name": "tier" } } ] }
  ]
}"#;

pub(super) const AUTHENTIK: &str = r#"[
  { "model": "authentik_core.group", "pk": "11111111-0000-4000-8000-00000000000a", "fields": { "name": "Leads", "is_superuser": false, "attributes": { "site": "x" }, "users": [3] } },
  { "model": "authentik_core.group", "pk": "11111111-0000-4000-8000-00000000000b", "fields": { "name": "Staff", "parent": null, "is_superuser": true } },
  { "model": "authentik_core.groupparentagenode", "pk": "44", "fields": { "child": "11111111-0000-4000-8000-00000000000a", "parent": "11111111-0000-4000-8000-00000000000b" } },
  { "model": "authentik_core.group", "pk": "11-a", "fields": { "name": "A", "parent": "11-b" } },
  { "model": "authentik_core.group", "pk": "11-b", "fields": { "name": "B", "parent": "11-a" } },
  { "model": "authentik_core.user", "pk": 2, "fields": { "username": "ann", "name": "Ann Ash", "email": "ann@example.com", "uuid": "aa-ann", "is_active": true, "password": "pbkdf2_sha256$1000$seasalt0123456789abcd$HY62XieXM90MMTi5ATfPxiZ8Bhvfx2LAiP5A5cP2kdE=", "groups": ["11111111-0000-4000-8000-00000000000a", "11111111-0000-4000-8000-00000000000f"], "attributes": { "department": "IT", "goauthentik.io/x": 1, "settings": { "locale": "de" } }, "date_joined": "2024-01-01", "path": "users" } },
  { "model": "authentik_core.user", "pk": 3, "fields": { "username": "bob", "name": "", "email": "", "uuid": "aa-bob", "is_active": false, "password": "!x", "mfa": [1] } },
  { "model": "authentik_core.user", "pk": 4, "fields": { "username": "ak-outpost", "type": "internal_service_account" } },
  { "model": "authentik_providers_oauth2.oauth2provider", "pk": 7, "fields": { "name": "Provider", "client_type": "confidential", "client_id": "wiki", "client_secret": "0123456789abcdef0123456789abcdef", "_redirect_uris": [{ "matching_mode": "strict", "url": "https://wiki.example.com/cb", "redirect_uri_type": "authorization" }, { "matching_mode": "strict", "url": "https://wiki.example.com/bye", "redirect_uri_type": "logout" }, { "matching_mode": "regex", "url": "https://.*" }], "grant_types": ["authorization_code", "refresh_token", "implicit"], "signing_key": null, "encryption_key": "55", "access_token_validity": "minutes=5", "sub_mode": "hashed_user_id", "include_claims_in_id_token": false } },
  { "model": "authentik_core.application", "pk": "22", "fields": { "name": "The Wiki", "slug": "wiki", "provider": 7, "meta_launch_url": "https://wiki.example.com/" } },
  { "model": "authentik_flows.flow", "pk": "33", "fields": {} }
]"#;

pub(super) const AUTH0: &str = r#"{"_id":{"$oid":"1"},"email":"ann@example.com","email_verified":true,"passwordHash":"$2b$04$GNYcPjgmT/EMJGiKncV6Vu6YoG5lfrbtsV1.YJsLTB1xr2YyeGr8S","tenant":"t"}
{"user_id":"auth0|2","email":"bob@example.com","username":"bob","blocked":true,"app_metadata":{"plan":"x"}}
"#;

pub(super) const FIREBASE: &str = r#"{"users":[{"localId":"1","email":"ann@example.com","emailVerified":true,"passwordHash":"lSrf+/==","salt":"42xEC+ixf3L2lw==","disabled":false},{"localId":"2","email":"bob@example.com","disabled":true,"providerUserInfo":[]}],"hash_config":{"base64_signer_key":"a","base64_salt_separator":"b","rounds":8,"mem_cost":14}}"#;

pub(super) const COGNITO: &str = r#"{"Users":[{"Username":"ann","Attributes":[{"Name":"sub","Value":"1"},{"Name":"email","Value":"ann@example.com"},{"Name":"custom:x","Value":"y"}],"Enabled":true},{"Username":"bob","Attributes":[{"Name":"sub","Value":"2"}],"Enabled":false}]}"#;

pub(super) const COGNITO_TABLE: &str =
    "cognito:username,sub,email,email_verified\nann,1,ann@example.com,true\n\"bob\",2,,\n";

pub(super) const TABLE: &str =
    "id,email,name,active\n1,ann@example.com,\"Ann, the\n first\",yes\n2,bob@example.com,,no\n";

pub(super) const OWN: &str = r#"{"export":{"format":1,"issuer":"https://a.example"}}
{"settings":{"audit_days":7}}
{"client":{"client_id":"app","client_name":"App"}}
{"role":{"id":"r1","name":"Admin","client_id":"app"}}
{"group":{"id":"g1","name":"Staff"}}
{"user":{"id":"u1","email":"ann@example.com","password_hash":"$2b$04$x"}}
{"membership":{"group_id":"g1","user_id":"u1"}}
{"given_role":{"role_id":"r1","group_id":"g1"}}
{"identity_provider":{"id":"acme","kind":"openid","issuer":"https://acme.example","client_id":"us","has_client_secret":true,"groups":{"claim":"groups","groups":{"staff":"g1","gone":"g9"}}}}
{"identity":{"user_id":"u1","identity_provider":"acme","subject":"s1","linked_at":1}}
{"consent":{"user_id":"u1","client_id":"app","scope":"openid","granted_at":1}}
{"logo":{"client_id":"app","media_type":"image/svg+xml","content":"PHN2Zy8-"}}
{"end":{"records":10}}
"#;
