"""Mail by a real server: taken, encrypted, slow, refusing, down; and a provider that is killed meanwhile."""

import email
import email.policy
import urllib.parse

from conftest import PASSWORD, USER, password_checker, wait_until

LOGIN = f"{urllib.parse.quote(USER)}:{urllib.parse.quote(PASSWORD, safe='')}"


def read(envelope) -> email.message.EmailMessage:
    """The mail of an envelope."""
    return email.message_from_bytes(envelope.content, policy=email.policy.default)


def test_mail_is_what_mail_programs_expect(provider, mail_server):
    server = mail_server().start()
    one = provider(SYMBOLON_SMTP_URL=f"smtp://127.0.0.1:{server.port}")
    one.queue("ann@example.com", language="de")
    wait_until(lambda: server.taken)
    envelope, _ = server.taken[0]
    assert (envelope.mail_from, envelope.rcpt_tos) == ("no-reply@op.example", ["ann@example.com"])
    mail = read(envelope)
    assert mail["From"] == "Example <no-reply@op.example>"
    assert mail["To"] == "ann@example.com"
    assert mail["Subject"].startswith("Ihr Code für ")
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail["Message-ID"].endswith("@op.example>")
    assert "042137" in mail.get_body(("plain",)).get_content()
    assert "042137" in mail.get_body(("html",)).get_content()
    wait_until(lambda: one.events("mail.sent"))
    assert "042137" not in one.log() and "ann@example.com" not in str(one.events("mail.sent"))


def test_tls_from_the_beginning_and_a_password(provider, mail_server, certificate):
    chain, context = certificate
    options = {"authenticator": password_checker, "auth_required": True, "auth_require_tls": False}
    server = mail_server(ssl_context=context, **options).start()
    one = provider(
        SYMBOLON_SMTP_URL=f"smtps://{LOGIN}@localhost:{server.port}",
        SSL_CERT_FILE=str(chain),
    )
    one.queue("ann@example.com")
    wait_until(lambda: server.taken)
    assert server.taken[0][1].authenticated
    assert PASSWORD not in one.log()


def test_a_certificate_of_somebody_else_gets_no_mail(provider, mail_server, certificate):
    _, context = certificate
    server = mail_server(ssl_context=context).start()
    one = provider(SYMBOLON_SMTP_URL=f"smtps://localhost:{server.port}")
    one.queue("ann@example.com")
    wait_until(lambda: one.events("mail.postponed"))
    assert one.events("mail.postponed")[0]["detail"]["stage"] == "connect"
    assert not server.taken


def test_starttls_is_used_where_it_is_offered(provider, mail_server, certificate):
    _, context = certificate
    server = mail_server(tls_context=context, authenticator=password_checker, auth_required=True).start()
    one = provider(SYMBOLON_SMTP_URL=f"smtp://{LOGIN}@127.0.0.1:{server.port}")
    one.queue("ann@example.com")
    wait_until(lambda: server.taken)
    _, session = server.taken[0]
    assert session.ssl is not None and session.authenticated


def test_what_is_refused_for_now_comes_again_and_what_is_refused_for_good_does_not(provider, mail_server):
    server = mail_server()
    server.to_recipients = ["451 greylisted"]
    server.start()
    one = provider(SYMBOLON_SMTP_URL=f"smtp://127.0.0.1:{server.port}")
    one.queue("ann@example.com")
    wait_until(lambda: server.recipients == ["ann@example.com"])
    assert [record["detail"]["code"] for record in one.events("mail.postponed")] == [451]
    server.to_recipients = ["550 no such user"]
    one.queue("nobody@example.com")
    wait_until(lambda: one.events("mail.given_up"))
    assert one.events("mail.given_up")[0]["detail"] == {
        "reason": "refused",
        "attempts": 1,
        "template": "email-code",
        "stage": "envelope",
        "code": 550,
    }
    assert server.recipients == ["ann@example.com"]


def test_nobody_waits_for_a_slow_server(provider, mail_server):
    server = mail_server()
    server.thinks = 3
    server.start()
    one = provider(SYMBOLON_SMTP_URL=f"smtp://127.0.0.1:{server.port}")
    addresses = [f"user{number}@example.com" for number in range(40)]
    assert max(one.queue(address) for address in addresses) < 2
    wait_until(lambda: len(server.taken) == 40, 60)
    assert sorted(server.recipients) == sorted(addresses)


def test_what_waits_for_a_server_that_is_down_survives_a_kill(provider, mail_server):
    server = mail_server()
    one = provider(SYMBOLON_SMTP_URL=f"smtp://127.0.0.1:{server.port}")
    addresses = [f"user{number}@example.com" for number in range(20)]
    for address in addresses:
        one.queue(address)
    wait_until(lambda: one.events("mail.postponed"))
    one.kill()
    one.start()
    server.start()
    # Those that were in the hands of the killed process come when its claims have run out.
    wait_until(lambda: len(server.taken) >= 20, 200)
    assert sorted(server.recipients) == sorted(addresses)


def test_a_provider_that_is_killed_while_it_sends_sends_twice_at_most(provider, mail_server):
    server = mail_server()
    server.thinks = 30
    server.start()
    one = provider(SYMBOLON_SMTP_URL=f"smtp://127.0.0.1:{server.port}")
    one.queue("ann@example.com", minutes=60)
    wait_until(lambda: server.taken)
    one.kill()
    server.thinks = 0
    one.start()
    wait_until(lambda: len(server.taken) == 2, 180)
    wait_until(lambda: one.events("mail.sent"))
    # Both copies are the same mail to whoever reads them.
    first, second = (read(envelope) for envelope, _ in server.taken)
    assert (first["Message-ID"], first["Date"]) == (second["Message-ID"], second["Date"])
