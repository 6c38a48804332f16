# Die Seiten auf Deutsch. Was die Namen bedeuten, steht in en.ftl.

login_title = Anmelden
login_continue = um mit { $client } fortzufahren
username = Benutzername
password = Passwort
sign_in = Anmelden
cancel = Abbrechen
login_invalid_credentials = Benutzername oder Passwort ist falsch.
login_too_many_attempts = Zu viele Versuche. Versuchen Sie es in { $wait } noch einmal.
login_busy = Im Moment ist viel los. Bitte versuchen Sie es in ein paar Sekunden noch einmal.
login_expired = Diese Seite war veraltet. Bitte melden Sie sich noch einmal an; Ihr Browser muss dafür Cookies annehmen.
seconds = { $count ->
    [one] { $count } Sekunde
   *[other] { $count } Sekunden
}
minutes = { $count ->
    [one] { $count } Minute
   *[other] { $count } Minuten
}

username_or_email = Benutzername oder E-Mail-Adresse
login_next = Weiter
login_other_name = Anderen Namen verwenden
login_email_code = Code per E-Mail senden
login_passkey_refused = Mit diesem Passkey konnten Sie sich hier nicht anmelden. Versuchen Sie es mit einem anderen oder melden Sie sich auf andere Weise an.
login_name_missing = Geben Sie zuerst Ihren Benutzernamen oder Ihre E-Mail-Adresse ein.
passkey_sign_in = Mit Passkey anmelden
passkey_needs_script = Passkeys brauchen JavaScript, und Ihr Browser führt es hier nicht aus.
passkey_offer_title = Melden Sie sich nächstes Mal schneller an
passkey_offer_text = Erstellen Sie einen Passkey und melden Sie sich mit Fingerabdruck, Gesicht oder der PIN dieses Geräts an. Er bleibt sicher, auch wenn jemand Ihr Passwort erfährt.
passkey_offer_create = Passkey erstellen
passkey_offer_later = Nicht jetzt
passkey_offer_failed = Es wurde kein Passkey erstellt. Sie können es noch einmal versuchen oder später nachholen.
email_code_title = Sehen Sie in Ihre E-Mails
email_code_sent = Wenn { $user } zu einem Konto gehört, haben wir einen Code an dessen Adresse gesendet.
email_code_label = Code aus der E-Mail
email_code_hint = Sechs Ziffern, { $wait } gültig. Lassen Sie diese Seite geöffnet.
email_code_wrong = Das ist nicht der Code, den wir gesendet haben. Sehen Sie in die neueste E-Mail und versuchen Sie es noch einmal.
email_code_spent = Dieser Code kann nicht mehr verwendet werden: Er ist zu alt oder wurde zu oft versucht. Lassen Sie sich einen neuen senden.
email_code_too_soon = Ein Code ist unterwegs. In { $wait } können Sie sich einen weiteren senden lassen.
email_code_again = Neuen Code senden
email_code_other_way = Auf andere Weise anmelden

second_factor_title = Bestätigen Sie, dass Sie es sind
second_factor_code = Code
second_factor_hint = Die sechs Ziffern, die Ihre Authenticator-App zeigt, oder einer Ihrer Wiederherstellungscodes.
second_factor_wrong = Dieser Code ist falsch oder wurde schon verwendet. Warten Sie auf den nächsten und versuchen Sie es noch einmal.
second_factor_confirm = Bestätigen
second_factor_passkey = Verwenden Sie einen Passkey Ihres Kontos.
second_factor_use_passkey = Passkey verwenden
second_factor_passkey_refused = Dieser Passkey konnte nicht verwendet werden. Versuchen Sie es mit einem anderen Ihres Kontos.
second_factor_skip = Ohne fortfahren
second_factor_remember = { $count ->
    [one] In diesem Browser { $count } Tag lang nicht mehr fragen
   *[other] In diesem Browser { $count } Tage lang nicht mehr fragen
}
second_factor_setup_title = Authenticator-App einrichten
second_factor_setup_scan = Scannen Sie dieses Bild mit einer Authenticator-App auf Ihrem Telefon. Geben Sie dann die sechs Ziffern ein, die sie zeigt.
second_factor_setup_type = Wenn Sie es nicht scannen können, geben Sie dieses Geheimnis in die App ein:
second_factor_setup_qr = QR-Code mit dem Geheimnis, das darunter steht
recovery_codes_title = Ihre Wiederherstellungscodes
recovery_codes_text = Bewahren Sie diese Codes an einem sicheren Ort auf. Wenn Sie Ihr Telefon verlieren, können Sie sich mit jedem davon einmal anmelden. Sie werden nicht noch einmal angezeigt.
recovery_codes_continue = Ich habe sie aufbewahrt

consent_title = { $client } erlauben?
consent_asks = { $client } möchte:
consent_signed_in = Angemeldet als { $user }
consent_not_you = Das sind nicht Sie?
consent_redirect = Sie werden zu { $host } weitergeleitet.
consent_allow = Erlauben
consent_deny = Ablehnen
scope_openid = Wissen, wer Sie sind
scope_profile = Ihren Namen und Ihr Profil sehen
scope_email = Ihre E-Mail-Adresse sehen
scope_address = Ihre Postanschrift sehen
scope_phone = Ihre Telefonnummer sehen
scope_groups = Sehen, in welchen Gruppen Sie sind
scope_roles = Sehen, welche Rollen Sie haben
scope_offline_access = Den Zugriff behalten, während Sie nicht da sind

logout_title = Abmelden?
logout_question = Beim nächsten Mal müssen Sie sich wieder anmelden.
logout_client = { $client } möchte Sie abmelden.
logout_signed_in = Angemeldet als { $user }
logout_confirm = Abmelden
logout_cancel = Angemeldet bleiben
logged_out_title = Sie sind abgemeldet
logged_out_text = Sie können dieses Fenster jetzt schließen.
logged_out_return = Zurück zu { $client }

error_request = Diese Anfrage kann nicht ausgeführt werden
error_not_found = Hier gibt es nichts
error_busy = Bitte versuchen Sie es gleich noch einmal
error_server = Bei uns ist etwas schiefgegangen
error_hint_client = Gehen Sie zurück zu { $client } und beginnen Sie noch einmal. Wenn es wieder geschieht, teilen Sie den Betreibern mit, was unten steht.
error_hint_request = Gehen Sie zurück zu der Anwendung, die Sie hierher geleitet hat, und beginnen Sie noch einmal. Wenn es wieder geschieht, teilen Sie deren Betreibern mit, was unten steht.
error_hint_wait = Warten Sie einen Moment und laden Sie diese Seite dann neu.
error_hint_server = Versuchen Sie es gleich noch einmal. Wenn es dabei bleibt, teilen Sie den Betreibern dieses Dienstes mit, was unten steht.
error_code = Fehler
error_request_id = Anfrage

form_post_title = Einen Moment
form_post_text = Sie werden zur Anwendung zurückgeleitet.
form_post_button = Weiter

index_text = Dies ist ein OpenID-Connect-Provider. Anwendungen leiten Sie hierher, damit Sie sich anmelden.
index_issuer = Aussteller
index_discovery = Discovery-Dokument

silent_title = Stille Erneuerung

outbox_title = Postausgang
outbox_text = Die letzten 100 Nachrichten dieses Servers. Im Entwicklungsmodus werden sie hier aufbewahrt, ob ein Mailserver eingerichtet ist oder nicht.
outbox_empty = Es wurde noch keine Nachricht gesendet.
outbox_to = An
