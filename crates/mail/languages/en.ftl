# Mail in English.
#
# The value of a message is the mail's subject. Its attributes: .text is the first paragraph; .action names the button that
# opens the link; .note stands at the end. $issuer is the provider's name, $lifetime one of the three texts below.

minutes = { $count ->
    [one] 1 minute
   *[other] { $count } minutes
}
hours = { $count ->
    [one] 1 hour
   *[other] { $count } hours
}
days = { $count ->
    [one] 1 day
   *[other] { $count } days
}

# Names in front of what happened, and at the end of every mail.
label-device = Device
label-address = Address
label-place = Place
label-time = Time
label-provider = Provider
label-passkey = Passkey
label-email = New address
label-help = Help
label-policy = Privacy policy
label-terms = Terms of service
footer = This message was sent by { $issuer }.

email-code = Your code for { $issuer }
    .text = Enter this code to sign in at { $issuer }:
    .note = It is valid for { $lifetime } and can be used once. Do not give it to anybody, whoever asks for it. If you did not want to sign in, ignore this message.

magic-link = Sign in at { $issuer }
    .text = Open this link to sign in at { $issuer }, in the browser in which you asked for it.
    .action = Sign in
    .note = It is valid for { $lifetime } and can be used once. If you did not want to sign in, ignore this message, and do not pass it on.

magic-link-or-code = Sign in at { $issuer }
    .text = Open this link in the browser in which you asked for it, or enter the code there, to sign in at { $issuer }:
    .action = Sign in
    .note = Both are valid for { $lifetime }, and for one sign-in. Do not give them to anybody, whoever asks for them. If you did not want to sign in, ignore this message.

reset-password = A new password for { $issuer }
    .text = Somebody asked for a new password for your account at { $issuer }. If that was you, open this link and choose one.
    .action = Choose a new password
    .note = It is valid for { $lifetime } and can be used once. If it was not you, ignore this message: your password stays as it is.

registration = Your code for { $issuer }
    .text = Enter this code to open your account at { $issuer }, or open the link in the same browser:
    .action = Open my account
    .note = It is valid for { $lifetime }. Do not give it to anybody, whoever asks for it. If you did not want to open an account, ignore this message: none is opened.

account-exists = You have an account at { $issuer }
    .text = Somebody, perhaps you, wanted to use this address for an account at { $issuer }. You have one already: sign in with this address. If you do not know the password any more, choose a new one.
    .action = Choose a new password
    .note = If it was not you, ignore this message: nothing was changed.

verify-email = Confirm your address for { $issuer }
    .text = Confirm that this address is yours, so that { $issuer } can use it for your account. Enter the code, or open the link in the same browser.
    .action = Confirm this address
    .note = Both are valid for { $lifetime }. If you did not enter this address at { $issuer }, ignore this message.

invitation = Your invitation to { $issuer }
    .text = You are invited to open an account at { $issuer }.
    .action = Open an account
    .note = The invitation is valid for { $lifetime }. If you did not expect it, ignore this message.

account-unknown = No account at { $issuer }
    .text = Somebody, perhaps you, entered this address at { $issuer }. No account has this address.
    .action = Open an account
    .note = If it was you, perhaps you registered with another address. If it was not, ignore this message.

new-device = New sign-in at { $issuer }
    .text = Somebody signed in to your account at { $issuer } with a device that was not used for it before.
    .note = If it was you, there is nothing to do. If it was not, change your password and end all sessions.

new-passkey = New passkey at { $issuer }
    .text = A passkey was added to your account at { $issuer }.
    .note = If it was you, there is nothing to do. If it was not, sign in, remove the passkey, change your password and end all sessions.

passkey-removed = Passkey removed at { $issuer }
    .text = A passkey was removed from your account at { $issuer }.
    .note = If it was you, there is nothing to do. If it was not, sign in, change your password and end all sessions.

provider-connected = New connection at { $issuer }
    .text = Your account at { $issuer } was connected with an account at another provider, which can sign in to it from now on.
    .note = If it was you, there is nothing to do. If it was not, sign in, disconnect it, change your password and end all sessions.

provider-disconnected = Connection removed at { $issuer }
    .text = Your account at { $issuer } was disconnected from an account at another provider.
    .note = If it was you, there is nothing to do. If it was not, sign in, change your password and end all sessions.

new-generator = New authenticator app at { $issuer }
    .text = An authenticator app was set up for your account at { $issuer }. Its codes are asked for when you sign in with your password.
    .note = If it was you, there is nothing to do. If it was not, tell the people who run this service at once.

new-recovery-codes = New recovery codes at { $issuer }
    .text = New recovery codes were drawn for your account at { $issuer }. Those from before are worth nothing any more.
    .note = If it was you, there is nothing to do. If it was not, sign in, change your password and end all sessions, and tell the people who run this service.

generator-removed = Authenticator app removed at { $issuer }
    .text = The authenticator app of your account at { $issuer } was removed, with the recovery codes. No code is asked for any more when you sign in with your password.
    .note = If it was you, there is nothing to do. If it was not, sign in, change your password and end all sessions.

password-changed = Your password at { $issuer } was changed
    .text = The password of your account at { $issuer } was changed.
    .note = If it was you, there is nothing to do. If it was not, ask for a new password at once, and tell the people who run this service.

email-changed = Your address at { $issuer } was changed
    .text = Your account at { $issuer } has another address now. This is the last message to the old one.
    .note = If it was you, there is nothing to do. If it was not, tell the people who run this service.

email-removed = Your address at { $issuer } was removed
    .text = Your account at { $issuer } has no e-mail address any more. This is the last message to this one.
    .note = If you asked for it, there is nothing to do. If you did not, tell the people who run this service.
