# The pages in English.
#
# This file says which texts there are. Each of the other files has the same keys with the same variables, or the build
# fails. A text has at most one variable, because a page may set off what fills it.

login_title = Sign in
# $client is the name of the application that sent the person here.
login_continue = to continue to { $client }
username = Username
password = Password
sign_in = Sign in
cancel = Cancel
login_invalid_credentials = Username or password is incorrect.
# $wait is one of the two texts below.
login_too_many_attempts = Too many attempts. Try again in { $wait }.
login_busy = We are busy at the moment. Please try again in a few seconds.
login_expired = This page was out of date. Please sign in again; your browser has to accept cookies for it.
seconds = { $count ->
    [one] { $count } second
   *[other] { $count } seconds
}
minutes = { $count ->
    [one] { $count } minute
   *[other] { $count } minutes
}

username_or_email = Username or email address
login_next = Next
login_other_name = Use another name
login_email_code = Email me a code
login_passkey_refused = This passkey could not be used to sign in here. Try another one, or sign in another way.
login_name_missing = Type your username or email address first.
# $name is the name of the other provider.
login_provider = Continue with { $name }
login_provider_refused = You were not signed in there. Try again, or sign in another way.
login_provider_failed = Signing in with the other provider did not work. Try again, or sign in another way.
login_provider_unknown = No account here is connected with the one that you used there. Sign in another way first; then you can connect it on the page of your account.
providers_title = Other providers
providers_text = Sign in here with an account that you have elsewhere.
providers_connect = Connect
providers_disconnect = Disconnect
providers_since = Connected since
account_connected = The account is connected.
account_disconnected = The account is disconnected.
account_connect_failed = The account could not be connected. It may be connected with another account here, or you waited too long.
passkey_sign_in = Sign in with a passkey
passkey_needs_script = Passkeys need JavaScript, and your browser does not run it here.
passkey_offer_title = Sign in faster next time
passkey_offer_text = Create a passkey, and sign in with your fingerprint, your face or the PIN of this device. It stays safe even if somebody learns your password.
passkey_offer_create = Create a passkey
passkey_offer_later = Not now
passkey_offer_failed = No passkey was created. You can try again, or do it later.
email_code_title = Check your mail
# $user is what was typed as name or address.
email_code_sent = If { $user } belongs to an account, we have sent a code to its address.
email_code_label = Code from the mail
# $wait is one of the two texts above.
email_code_hint = Six digits, valid for { $wait }. Keep this page open.
email_code_wrong = This is not the code that we sent. Look at the latest mail and try again.
email_code_spent = This code can no longer be used: it is too old, or it was tried too often. Have a new one sent.
email_code_too_soon = A code is on its way. You can have another one sent in { $wait }.
email_code_again = Send a new code
email_code_other_way = Sign in another way

second_factor_title = Confirm that it is you
second_factor_code = Code
second_factor_hint = The six digits that your authenticator app shows, or one of your recovery codes.
second_factor_wrong = This code is not right, or it was used before. Wait for the next one and try again.
second_factor_confirm = Confirm
second_factor_passkey = Use a passkey of your account.
second_factor_use_passkey = Use a passkey
second_factor_passkey_refused = This passkey could not be used. Try another one of your account.
second_factor_skip = Go on without
second_factor_remember = { $count ->
    [one] Do not ask again in this browser for { $count } day
   *[other] Do not ask again in this browser for { $count } days
}
second_factor_setup_title = Set up an authenticator app
second_factor_setup_scan = Scan this picture with an authenticator app on your phone. Then type the six digits that it shows.
second_factor_setup_type = If you cannot scan it, type this secret into the app:
# For those who do not see the picture.
second_factor_setup_qr = QR code with the secret below
recovery_codes_title = Your recovery codes
recovery_codes_text = Keep these codes in a safe place. If you lose your phone, each of them signs you in once. They are not shown again.
recovery_codes_continue = I have kept them

select_account_title = Choose an account
select_account_in_use = in use now
select_account_other = Use another account

consent_title = Allow { $client }?
# A list of the texts scope_... follows.
consent_asks = { $client } would like to:
consent_signed_in = Signed in as { $user }
consent_not_you = Not you?
consent_redirect = You will be taken to { $host }.
consent_client_host = This application chose its name itself. It is known only by its address: { $host }.
consent_allow = Allow
consent_deny = Deny
detail_yes = yes
detail_no = no
scope_openid = Know who you are
scope_profile = See your name and profile
scope_email = See your email address
scope_address = See your postal address
scope_phone = See your phone number
scope_groups = See which groups you are in
scope_roles = See which roles you have
scope_offline_access = Keep its access while you are away
consent_more = More about { $client }:

# The page on which devices are allowed what they ask for.
device_title = Connect a device
device_text = Type the code that the device shows.
device_code_label = Code on the device
device_unknown = No device waits with this code. Look whether it is the one that the device shows; a code is valid for ten minutes and can be used once.
device_second_factor = This application wants you to sign in in two steps. Set up a second one on the security page of your account, and begin again on the device.
device_expired = This page was out of date. Compare the code and decide again.
device_consent_title = Allow { $client } on a device?
device_consent_code = Does the device show this code?
device_consent_warning = Go on only if the device is in front of you and you began this there yourself. Whoever sent you this code or this address would get access to your account.
device_allowed_title = The device is connected
device_allowed_text = Go back to the device. You can close this page.
device_denied_title = The device was refused
device_denied_text = It gets no access to your account. You can close this page.

help = Help
privacy_policy = Privacy policy
terms_of_service = Terms of service

logout_title = Sign out?
logout_question = You will need to sign in again the next time.
logout_client = { $client } asks to sign you out.
logout_signed_in = Signed in as { $user }
logout_applications = You will be signed out of these applications too:
logout_confirm = Sign out
logout_cancel = Stay signed in
# A list of the names of accounts follows.
logout_others = Also signed in in this browser:
logout_one = Sign out of this account
logout_all = Sign out of all accounts
logged_out_title = You are signed out
logged_out_text = It is safe to close this window.
# A list of the names of accounts follows.
logged_out_others = Still signed in in this browser:
logged_out_return = Return to { $client }

error_request = This request cannot be completed
error_not_found = There is nothing here
error_busy = Please try again in a moment
error_server = Something went wrong on our side
error_hint_client = Go back to { $client } and begin again. If this happens again, tell the people who run it what is written below.
error_open_again = Open { $client } again
error_hint_request = Go back to the application that sent you here and begin again. If this happens again, tell the people who run it what is written below.
error_hint_wait = Wait a moment, then reload this page.
error_hint_server = Try again in a moment. If this goes on, tell the people who run this service what is written below.
error_code = Error
error_request_id = Request

form_post_title = One moment
form_post_text = Taking you back to the application.
form_post_button = Continue

index_text = This is an OpenID Connect provider. Applications send you here to sign in.
index_issuer = Issuer
index_discovery = Discovery document

silent_title = Silent renewal

outbox_title = Outbox
outbox_text = The last 100 mails of this server. In development mode they are kept here, whether or not a mail server is configured.
outbox_empty = No mail has been sent yet.
outbox_to = To

account_title = Your account
# Fills the gap of login_continue.
account_own = your account
account_signed_in = Signed in as { $user }
account_nav_overview = Overview
account_nav_profile = Profile
account_nav_password = Password
account_nav_security = Passkeys and codes
account_nav_sessions = Sessions
account_nav_applications = Applications
account_nav_requests = Requests
account_nav_data = Your data
account_sign_out = Sign out
account_switch = Switch account
account_lead_profile = Your name, and what else is known about you
account_lead_password = Change the password that you sign in with
account_lead_security = Sign in without a password, or with a code besides it
account_lead_sessions = Where you are signed in, and how to end it
account_lead_applications = Which applications use your account, and what they may do
account_lead_requests = What applications ask you to allow
account_lead_data = Take a copy of your data, or delete your account
account_save = Save
# No value.
account_none = None
account_saved = Your changes are saved.
account_password_changed = Your password is changed.
account_sessions_ended = That is ended. Nobody is signed in there any more.
account_access_ended = That access is ended.
account_expired = This page was out of date, and nothing was changed. Please try again.
account_changed_meanwhile = This was changed elsewhere while the page was open. Here is how it is now; please try again.
account_taken = Somebody else has one of these values, which must be different for everybody. Please take another one.
account_wrong_password = That is not your present password.
account_passkey_added = Your passkey is added.
account_passkey_removed = The passkey is removed.
account_generator_set = Your authenticator app is set up.
account_generator_removed = Your authenticator app is removed, with the recovery codes.
account_wrong_code = That is not the code that the app shows now. Please type the next one.
account_passkey_failed = No passkey was added. Please try again.
account_last_way = This is the only way to sign in to your account. Please set a password or add a passkey first.
account_too_short = The new password must have at least 8 characters.
account_too_long = The new password is too long.
account_common = Very many people use this password, so it is among the first that somebody would try. Please take another one.
account_own_name = Your password must not be your name or address. Please take another one.
account_differ = The two new passwords differ. Please type the same one twice.
account_busy = We are busy at the moment. Please try again in a few seconds.
account_not_confirmed = Please tick the box if you want to delete your account.
account_needs_password = Please type your password.
account_bad_text = A name may have 2,048 bytes at most, and no control characters.
# $wait is one of the texts seconds and minutes.
account_wait = Too many attempts. Try again in { $wait }.
# $reason is in English: what an administrator wrote into the schema, or its rule.
account_invalid = This cannot be saved: { $reason }.

profile_email = Email address
profile_unverified = not verified
profile_name = Full name
profile_given_name = Given name
profile_family_name = Family name
profile_middle_name = Middle name
profile_nickname = Nickname
profile_language = Language of your mail
profile_more = More about you
profile_yes = Yes
profile_no = No
profile_lines = One in each line
profile_required = required
profile_hidden = What is stored is not shown. Leave it empty to keep it.

password_present = Present password
password_new = New password
password_again = New password again
password_rule = At least 8 characters. A few words that do not belong together are easy to remember and hard to guess.
password_end_others = Sign me out everywhere else
password_change = Change password
password_set = Set password

security_passkeys = Passkeys
security_passkeys_text = A passkey signs you in with your fingerprint, your face or the lock of your device. There is nothing to remember, and it is of no use on a forged page.
security_passkeys_none = You have no passkey yet.
security_passkeys_full = Your account can have no more passkeys. Remove one first.
security_passkey_name = Name
security_passkey_synced = synced between devices
security_passkey_device = on one device only
security_passkey_rename = Rename
security_passkey_remove = Remove
security_passkey_add = Add a passkey
security_passkey_add_text = Give it a name by which you will know it again. Your browser then asks where to keep it.
security_passkey_exists = This device has a passkey of your account already.
security_passkey_unsupported = This needs JavaScript, and a browser that knows passkeys.
security_added = Added
security_used = Last used
security_generator = Authenticator app
security_generator_text = An app on your phone shows a new code every 30 seconds. It is asked for when you sign in with your password.
security_generator_added = Set up
security_generator_set_up = Set up an app
security_generator_replace = Set up another app
security_generator_remove = Remove
security_generator_required = Your account needs a second factor here, so the app can be replaced but not removed.
security_codes = Recovery codes
security_codes_text = Each of them stands in for a code of the app once. Get new ones when few are left: the old ones end then.
security_codes_left = Unused
security_codes_new = Get new codes

sessions_this = This browser
sessions_other = Another browser
sessions_device = Device
sessions_address = Began from the address
sessions_begun = Begun
sessions_used = Last used
sessions_signed_in = Signed in
# A list of the texts method_... follows.
sessions_method = By
sessions_end = End
sessions_end_others = End all others
sessions_only_this = You are signed in nowhere else.
sessions_told = If somebody signs in to your account in a browser in which you have never signed in, you are told by mail.
sessions_more = The newest are shown, of { $total } in all.
method_pwd = password
method_otp = one-time code
method_hwk = security key
method_swk = passkey
method_mfa = several factors
method_admin_api = an administrator

applications_none = No application uses your account.
applications_since = Since
applications_used = Last used
applications_offline = Keeps its access while you are away
applications_session = You signed in there with your account.
applications_host = Known only by its address: { $host }
applications_open = Open
applications_end = End access
applications_end_all = End all access
applications_end_hint = An application whose access is ended has to ask you again.
requests_waiting = An application waits for your decision.
requests_none = No application waits for your decision.
requests_warning = Allow only what you began yourself, in the application or with its staff. Whoever began it would get access to your account.
requests_message = Message of the application
requests_asked = Asked
requests_ends = Ends
requests_allowed = The request is allowed.
requests_denied = The request is refused.
requests_gone = That request has ended, or was decided already.
requests_second_factor = This application wants you to sign in in two steps. Set up a second one on the security page of your account, and decide again.

data_export_title = A copy of your data
data_export_text = Everything that is stored about you here, as a JSON file: profile, groups and roles, sessions, and what applications may do. It has no passwords or other secrets.
data_export = Download
data_delete_title = Delete your account
data_delete_text = Your account and all that belongs to it are deleted for good. You are signed out everywhere, and applications lose their access.
data_delete_off = Please ask an administrator if you want your account to be deleted.
data_delete_confirm = I want to delete my account for good
data_delete = Delete my account
data_deleted_title = Your account is deleted
data_deleted_text = You are signed out everywhere. It is safe to close this window.
magic_link_send = Send me a sign-in link
forgot_link = Forgot your password?
register_link = Create an account
email = E-mail address
given_name = First name
family_name = Last name
new_password = New password
password_hint = At least 8 characters. A few words in a row are easy to remember and hard to guess.
password_optional_hint = You may leave this empty: then you sign in by what is sent to your e-mail address.
password_too_short = This password is too short: it needs at least 8 characters.
password_too_long = This password is too long.
password_common = This password is used by so many people that it is guessed first. Choose another one.
password_breached = This password stands in a list of passwords that were stolen from other services, so others know it. It does not say that anything happened to you here. Choose another one, and change it wherever else you use it.
password_own_name = This password is your own name or address. Choose another one.
form_expired = This page was out of date. Please send it again; your browser has to accept cookies for it.
begin_again = Begin again
notice_continue = Continue

register_title = Create an account
register_continue = Continue
register_create = Create account
register_have_account = I have an account
register_email_wrong = This is not an e-mail address.
register_field_wrong = { $field } is missing, or not in the form that is needed.
register_taken = One of these values belongs to another account.
register_puzzle = Your browser has to run a script before the form can be sent, to keep machines away. Please allow scripts and send it again.
registration_closed_title = Accounts cannot be created here
registration_closed_text = If you need one, ask the people who run this service.
invitation_over_title = This invitation is no longer valid
invitation_over_text = It was used or withdrawn, or its time is over. Ask for another one, or sign in if you have an account.
account_exists_title = You have an account
account_exists_text = This address has an account already. Sign in with it.

look_at_mail_title = Look at your mail
mailed_code_sent = We sent a message to { $email }. Type the six digits that are in it, or open its link in this browser.
mailed_code_proven = { $email } is your address. One more step.
mailed_code_wrong = This is not the code.
mailed_code_used_up = This code cannot be used any more. Begin again for a new one.
mailed_code_again = No message? Begin again
magic_link_sent = If { $email } has an account, we sent a link to it. Open the link in this browser. Opened in another one it shows six digits; type them here.
other_browser_title = Go back to your other browser
other_browser_text = This is not the browser in which you began. Type the six digits of the message there.
other_browser_code = This is not the browser in which you began. Type these digits there, if it was you who began:
link_over_title = This link is no longer valid
link_over_text = It was used, or its time is over, or something about the account was changed since.

forgot_title = Forgotten password
forgot_text = We send you a link with which you choose a new one.
forgot_send = Send the link
forgot_back = Back to signing in
forgot_name = Type your username or e-mail address.
recovery_sent_text = If there is an account with this name, a message with a link is on its way to its address. The link is valid for 30 minutes.
reset_title = Choose a new password
reset_for = For the account { $user }
reset_ends = Everything that is signed in to this account is signed out then.
reset_set = Set the password
password_reset_title = Your password is changed
password_reset_text = Everything that was signed in to this account is signed out. Sign in with the new password.

email_present = Your address is { $email }.
email_is_verified = It is confirmed.
email_is_not_verified = It is not confirmed yet.
email_change = Confirm or change
email_add = Add an address
email_prove = Confirm it by a message
email_new = New address
email_hint = We send a message to it. Until you confirm it, the present address stays.
email_back = Back to your account
email_confirm_title = Confirm your address
email_proven_title = Your address is confirmed
email_proven_text = From now on you sign in with it, and we write to it.
