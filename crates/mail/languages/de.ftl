# Mail auf Deutsch. Was die Namen bedeuten, steht in en.ftl.

minutes = { $count ->
    [one] 1 Minute
   *[other] { $count } Minuten
}
hours = { $count ->
    [one] 1 Stunde
   *[other] { $count } Stunden
}
days = { $count ->
    [one] 1 Tag
   *[other] { $count } Tage
}

label-device = Gerät
label-address = Adresse
label-place = Ort
label-time = Zeit
label-provider = Anbieter
label-passkey = Passkey
label-email = Neue Adresse
label-help = Hilfe
label-policy = Datenschutzerklärung
label-terms = Nutzungsbedingungen
footer = Diese Nachricht hat { $issuer } gesendet.

email-code = Ihr Code für { $issuer }
    .text = Geben Sie diesen Code ein, um sich bei { $issuer } anzumelden:
    .note = Gültigkeit: { $lifetime }, für eine einzige Anmeldung. Geben Sie den Code niemandem, wer auch immer danach fragt. Wenn Sie sich nicht anmelden wollten, ist nichts zu tun.

magic-link = Anmeldung bei { $issuer }
    .text = Öffnen Sie diesen Link, um sich bei { $issuer } anzumelden, und zwar in dem Browser, in dem Sie ihn angefordert haben.
    .action = Anmelden
    .note = Gültigkeit: { $lifetime }, für eine einzige Anmeldung. Wenn Sie sich nicht anmelden wollten, ist nichts zu tun; geben Sie den Link nicht weiter.

magic-link-or-code = Anmeldung bei { $issuer }
    .text = Öffnen Sie diesen Link in dem Browser, in dem Sie ihn angefordert haben, oder geben Sie dort den Code ein, um sich bei { $issuer } anzumelden:
    .action = Anmelden
    .note = Gültigkeit: { $lifetime }, für eine einzige Anmeldung. Geben Sie Link und Code niemandem, wer auch immer danach fragt. Wenn Sie sich nicht anmelden wollten, ist nichts zu tun.

reset-password = Neues Passwort für { $issuer }
    .text = Jemand hat ein neues Passwort für Ihr Konto bei { $issuer } angefordert. Wenn Sie das waren, öffnen Sie diesen Link und wählen Sie eines.
    .action = Neues Passwort wählen
    .note = Gültigkeit: { $lifetime }, einmal verwendbar. Wenn Sie es nicht waren, ist nichts zu tun: Ihr Passwort bleibt, wie es ist.

registration = Ihr Code für { $issuer }
    .text = Geben Sie diesen Code ein, um Ihr Konto bei { $issuer } zu eröffnen, oder öffnen Sie den Link im selben Browser:
    .action = Konto eröffnen
    .note = Gültigkeit: { $lifetime }. Geben Sie den Code niemandem, wer auch immer danach fragt. Wenn Sie kein Konto eröffnen wollten, ist nichts zu tun: Es wird keines eröffnet.

account-exists = Sie haben ein Konto bei { $issuer }
    .text = Jemand, vielleicht Sie, wollte diese Adresse für ein Konto bei { $issuer } verwenden. Sie haben schon eines: Melden Sie sich mit dieser Adresse an. Wenn Sie das Passwort nicht mehr wissen, wählen Sie ein neues.
    .action = Neues Passwort wählen
    .note = Wenn Sie es nicht waren, ist nichts zu tun: Nichts wurde geändert.

verify-email = Bestätigen Sie Ihre Adresse für { $issuer }
    .text = Bestätigen Sie, dass diese Adresse Ihnen gehört, damit { $issuer } sie für Ihr Konto verwenden kann. Geben Sie den Code ein, oder öffnen Sie den Link im selben Browser.
    .action = Adresse bestätigen
    .note = Gültigkeit: { $lifetime }. Wenn Sie diese Adresse nicht bei { $issuer } eingegeben haben, ist nichts zu tun.

invitation = Ihre Einladung zu { $issuer }
    .text = Sie sind eingeladen, ein Konto bei { $issuer } zu eröffnen.
    .action = Konto eröffnen
    .note = Gültigkeit der Einladung: { $lifetime }. Wenn Sie sie nicht erwartet haben, ist nichts zu tun.

account-unknown = Kein Konto bei { $issuer }
    .text = Jemand, vielleicht Sie, hat diese Adresse bei { $issuer } eingegeben. Kein Konto hat diese Adresse.
    .action = Konto eröffnen
    .note = Wenn Sie es waren, haben Sie vielleicht eine andere Adresse angegeben. Wenn nicht, ist nichts zu tun.

new-device = Neue Anmeldung bei { $issuer }
    .text = Jemand hat sich bei Ihrem Konto bei { $issuer } mit einem Gerät angemeldet, das dafür noch nicht verwendet wurde.
    .note = Wenn Sie es waren, ist nichts zu tun. Wenn nicht, ändern Sie Ihr Passwort und beenden Sie alle Sitzungen.

new-passkey = Neuer Passkey bei { $issuer }
    .text = Zu Ihrem Konto bei { $issuer } wurde ein Passkey hinzugefügt.
    .note = Wenn Sie es waren, ist nichts zu tun. Wenn nicht, melden Sie sich an, entfernen Sie den Passkey, ändern Sie Ihr Passwort und beenden Sie alle Sitzungen.

passkey-removed = Passkey bei { $issuer } entfernt
    .text = Aus Ihrem Konto bei { $issuer } wurde ein Passkey entfernt.
    .note = Wenn Sie es waren, ist nichts zu tun. Wenn nicht, melden Sie sich an, ändern Sie Ihr Passwort und beenden Sie alle Sitzungen.

provider-connected = Neue Verbindung bei { $issuer }
    .text = Ihr Konto bei { $issuer } wurde mit einem Konto bei einem anderen Anbieter verbunden, mit dem man sich von nun an anmelden kann.
    .note = Wenn Sie es waren, ist nichts zu tun. Wenn nicht, melden Sie sich an, trennen Sie es, ändern Sie Ihr Passwort und beenden Sie alle Sitzungen.

provider-disconnected = Verbindung bei { $issuer } getrennt
    .text = Ihr Konto bei { $issuer } wurde von einem Konto bei einem anderen Anbieter getrennt.
    .note = Wenn Sie es waren, ist nichts zu tun. Wenn nicht, melden Sie sich an, ändern Sie Ihr Passwort und beenden Sie alle Sitzungen.

new-generator = Neue Authenticator-App bei { $issuer }
    .text = Für Ihr Konto bei { $issuer } wurde eine Authenticator-App eingerichtet. Ihre Codes werden bei der Anmeldung mit dem Passwort verlangt.
    .note = Wenn Sie es waren, ist nichts zu tun. Wenn nicht, benachrichtigen Sie sofort die Betreiber dieses Dienstes.

new-recovery-codes = Neue Codes zur Wiederherstellung bei { $issuer }
    .text = Für Ihr Konto bei { $issuer } wurden neue Codes zur Wiederherstellung erzeugt. Die bisherigen gelten nicht mehr.
    .note = Wenn Sie es waren, ist nichts zu tun. Wenn nicht, melden Sie sich an, ändern Sie Ihr Passwort und beenden Sie alle Sitzungen, und benachrichtigen Sie die Betreiber dieses Dienstes.

generator-removed = Authenticator-App bei { $issuer } entfernt
    .text = Die Authenticator-App Ihres Kontos bei { $issuer } wurde entfernt, mit ihr die Wiederherstellungscodes. Bei der Anmeldung mit dem Passwort wird kein Code mehr verlangt.
    .note = Wenn Sie es waren, ist nichts zu tun. Wenn nicht, melden Sie sich an, ändern Sie Ihr Passwort und beenden Sie alle Sitzungen.

password-changed = Ihr Passwort bei { $issuer } wurde geändert
    .text = Das Passwort Ihres Kontos bei { $issuer } wurde geändert.
    .note = Wenn Sie es waren, ist nichts zu tun. Wenn nicht, fordern Sie sofort ein neues Passwort an und benachrichtigen Sie die Betreiber dieses Dienstes.

email-changed = Ihre Adresse bei { $issuer } wurde geändert
    .text = Ihr Konto bei { $issuer } hat jetzt eine andere Adresse. Dies ist die letzte Nachricht an die alte.
    .note = Wenn Sie es waren, ist nichts zu tun. Wenn nicht, benachrichtigen Sie die Betreiber dieses Dienstes.

email-removed = Ihre Adresse bei { $issuer } wurde entfernt
    .text = Ihr Konto bei { $issuer } hat keine E-Mail-Adresse mehr. Dies ist die letzte Nachricht an diese Adresse.
    .note = Wenn Sie darum gebeten haben, ist nichts zu tun. Wenn nicht, benachrichtigen Sie die Betreiber dieses Dienstes.
