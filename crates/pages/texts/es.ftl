# Las páginas en español. El significado de los nombres está en en.ftl.

login_title = Iniciar sesión
login_continue = para continuar a { $client }
username = Nombre de usuario
password = Contraseña
sign_in = Iniciar sesión
cancel = Cancelar
login_invalid_credentials = El nombre de usuario o la contraseña no son correctos.
login_too_many_attempts = Demasiados intentos. Vuelva a intentarlo dentro de { $wait }.
login_busy = Hay mucha actividad en este momento. Vuelva a intentarlo dentro de unos segundos.
login_expired = Esta página había caducado. Inicie sesión de nuevo; para ello, su navegador debe aceptar cookies.
seconds = { $count ->
    [one] { $count } segundo
   *[other] { $count } segundos
}
minutes = { $count ->
    [one] { $count } minuto
   *[other] { $count } minutos
}

second_factor_title = Confirme que es usted
second_factor_code = Código
second_factor_hint = Los seis dígitos que muestra su aplicación de autenticación o uno de sus códigos de recuperación.
second_factor_wrong = Este código no es correcto o ya se ha utilizado. Espere al siguiente y vuelva a intentarlo.
second_factor_confirm = Confirmar
second_factor_setup_title = Configure una aplicación de autenticación
second_factor_setup_scan = Escanee esta imagen con una aplicación de autenticación en su teléfono. Después, escriba los seis dígitos que muestre.
second_factor_setup_type = Si no puede escanearla, escriba este secreto en la aplicación:
second_factor_setup_qr = Código QR con el secreto que aparece debajo
recovery_codes_title = Sus códigos de recuperación
recovery_codes_text = Guarde estos códigos en un lugar seguro. Si pierde su teléfono, con cada uno de ellos podrá iniciar sesión una vez. No se volverán a mostrar.
recovery_codes_continue = Los he guardado

consent_title = ¿Permitir el acceso a { $client }?
consent_asks = { $client } desea:
consent_signed_in = Ha iniciado sesión como { $user }
consent_not_you = ¿No es usted?
consent_redirect = Se le llevará a { $host }.
consent_allow = Permitir
consent_deny = Rechazar
scope_openid = Saber quién es usted
scope_profile = Ver su nombre y su perfil
scope_email = Ver su dirección de correo electrónico
scope_address = Ver su dirección postal
scope_phone = Ver su número de teléfono
scope_groups = Ver a qué grupos pertenece
scope_roles = Ver qué roles tiene
scope_offline_access = Conservar el acceso mientras usted no está

logout_title = ¿Cerrar sesión?
logout_question = La próxima vez tendrá que iniciar sesión de nuevo.
logout_client = { $client } solicita cerrar su sesión.
logout_signed_in = Ha iniciado sesión como { $user }
logout_confirm = Cerrar sesión
logout_cancel = Mantener la sesión
logged_out_title = Ha cerrado la sesión
logged_out_text = Ya puede cerrar esta ventana.
logged_out_return = Volver a { $client }

error_request = No se puede completar esta solicitud
error_not_found = Aquí no hay nada
error_busy = Vuelva a intentarlo dentro de un momento
error_server = Algo ha fallado por nuestra parte
error_hint_client = Vuelva a { $client } y empiece de nuevo. Si ocurre otra vez, comunique a sus responsables lo que aparece abajo.
error_hint_request = Vuelva a la aplicación que le ha traído aquí y empiece de nuevo. Si ocurre otra vez, comunique a sus responsables lo que aparece abajo.
error_hint_wait = Espere un momento y vuelva a cargar esta página.
error_hint_server = Vuelva a intentarlo dentro de un momento. Si el problema continúa, comunique a los responsables de este servicio lo que aparece abajo.
error_code = Error
error_request_id = Solicitud

form_post_title = Un momento
form_post_text = Le llevamos de vuelta a la aplicación.
form_post_button = Continuar

index_text = Esto es un proveedor de OpenID Connect. Las aplicaciones le envían aquí para que inicie sesión.
index_issuer = Emisor
index_discovery = Documento de descubrimiento

silent_title = Renovación silenciosa

outbox_title = Bandeja de salida
outbox_text = Los últimos 100 correos de este servidor. En modo de desarrollo se guardan aquí, haya o no un servidor de correo configurado.
outbox_empty = Todavía no se ha enviado ningún correo.
outbox_to = Para

magic_link_send = Enviarme un enlace de acceso
forgot_link = ¿Olvidó su contraseña?
register_link = Crear una cuenta
email = Correo electrónico
given_name = Nombre
family_name = Apellidos
new_password = Nueva contraseña
password_hint = Al menos 8 caracteres. Varias palabras seguidas son fáciles de recordar y difíciles de adivinar.
password_optional = Déjelo vacío para iniciar sesión sin contraseña.
password_too_short = Esta contraseña es demasiado corta: necesita al menos 8 caracteres.
password_too_long = Esta contraseña es demasiado larga.
password_common = Tanta gente usa esta contraseña que es de las primeras que se prueban. Elija otra.
password_own_name = Esta contraseña es su propio nombre o su dirección. Elija otra.
form_expired = Esta página había caducado. Vuelva a enviarla; su navegador debe aceptar cookies.
begin_again = Empezar de nuevo
notice_continue = Continuar

register_title = Crear una cuenta
register_continue = Continuar
register_create = Crear cuenta
register_have_account = Ya tengo una cuenta
register_email_wrong = Esto no es una dirección de correo electrónico.
register_field_wrong = Falta { $field }, o no tiene la forma necesaria.
register_taken = Uno de estos valores pertenece a otra cuenta.
register_puzzle = Su navegador debe ejecutar un script antes de enviar el formulario, para mantener alejadas a las máquinas. Permita los scripts y envíelo de nuevo.
registration_closed_title = Aquí no se pueden crear cuentas
registration_closed_text = Si necesita una, pídala a quienes administran este servicio.
invitation_over_title = Esta invitación ya no es válida
invitation_over_text = Se usó o se retiró, o su plazo terminó. Pida otra, o inicie sesión si tiene una cuenta.
account_exists_title = Usted ya tiene una cuenta
account_exists_text = Esta dirección ya tiene una cuenta. Inicie sesión con ella.

look_at_mail_title = Revise su correo
mailed_code_sent = Hemos enviado un mensaje a { $email }. Escriba los seis dígitos que contiene, o abra su enlace en este navegador.
mailed_code_proven = { $email } es su dirección. Falta un paso.
mailed_code_wrong = Este no es el código.
mailed_code_used_up = Este código ya no se puede usar. Empiece de nuevo para recibir otro.
mailed_code_again = ¿No llega el mensaje? Empezar de nuevo
magic_link_sent = Si { $email } tiene una cuenta, le hemos enviado un enlace. Ábralo en este navegador. En otro mostrará seis dígitos; escríbalos aquí.
other_browser_title = Vuelva a su otro navegador
other_browser_text = No es el navegador en el que empezó. Escriba allí los seis dígitos del mensaje.
other_browser_code = No es el navegador en el que empezó. Si fue usted quien empezó, escriba allí estos dígitos:
link_over_title = Este enlace ya no es válido
link_over_text = Se usó, o su plazo terminó, o desde entonces cambió algo en la cuenta.

forgot_title = Contraseña olvidada
forgot_text = Le enviamos un enlace con el que elegirá una nueva.
forgot_send = Enviar el enlace
forgot_back = Volver al inicio de sesión
forgot_name = Escriba su nombre de usuario o su correo electrónico.
recovery_sent_text = Si existe una cuenta con este nombre, un mensaje con un enlace va camino de su dirección. El enlace es válido durante 30 minutos.
reset_title = Elija una nueva contraseña
reset_for = Para la cuenta { $user }
reset_ends = Entonces se cerrarán todas las sesiones de esta cuenta.
reset_set = Guardar la contraseña
password_reset_title = Su contraseña ha cambiado
password_reset_text = Se han cerrado todas las sesiones de esta cuenta. Inicie sesión con la nueva contraseña.

email_present = Su dirección es { $email }.
email_is_verified = Está confirmada.
email_is_not_verified = Todavía no está confirmada.
email_prove = Confirmarla con un mensaje
email_new = Nueva dirección
email_hint = Le enviamos un mensaje. Hasta que la confirme, se mantiene la dirección actual.
email_back = Volver a su cuenta
email_confirm_title = Confirme su dirección
email_proven_title = Su dirección está confirmada
email_proven_text = Desde ahora inicia sesión con ella, y a ella le escribimos.
