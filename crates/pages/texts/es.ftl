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

username_or_email = Nombre de usuario o correo electrónico
login_next = Siguiente
login_other_name = Usar otro nombre
login_email_code = Enviarme un código por correo
login_passkey_refused = No se ha podido iniciar sesión aquí con esta llave de acceso. Pruebe con otra o inicie sesión de otra forma.
login_name_missing = Escriba primero su nombre de usuario o su correo electrónico.
passkey_sign_in = Iniciar sesión con una llave de acceso
passkey_needs_script = Las llaves de acceso necesitan JavaScript, y su navegador no lo ejecuta aquí.
passkey_offer_title = Inicie sesión más rápido la próxima vez
passkey_offer_text = Cree una llave de acceso e inicie sesión con su huella, su rostro o el PIN de este dispositivo. Es segura aunque alguien averigüe su contraseña.
passkey_offer_create = Crear una llave de acceso
passkey_offer_later = Ahora no
passkey_offer_failed = No se ha creado ninguna llave de acceso. Puede volver a intentarlo o hacerlo más tarde.
email_code_title = Consulte su correo
email_code_sent = Si { $user } corresponde a una cuenta, hemos enviado un código a su dirección.
email_code_label = Código del correo
email_code_hint = Seis dígitos, válidos durante { $wait }. Deje esta página abierta.
email_code_wrong = Este no es el código que hemos enviado. Consulte el último correo y vuelva a intentarlo.
email_code_spent = Este código ya no se puede utilizar: ha caducado o se ha probado demasiadas veces. Pida uno nuevo.
email_code_too_soon = Hay un código en camino. Podrá pedir otro dentro de { $wait }.
email_code_again = Enviar un código nuevo
email_code_other_way = Iniciar sesión de otra forma

second_factor_title = Confirme que es usted
second_factor_code = Código
second_factor_hint = Los seis dígitos que muestra su aplicación de autenticación o uno de sus códigos de recuperación.
second_factor_wrong = Este código no es correcto o ya se ha utilizado. Espere al siguiente y vuelva a intentarlo.
second_factor_confirm = Confirmar
second_factor_passkey = Utilice una llave de acceso de su cuenta.
second_factor_use_passkey = Usar una llave de acceso
second_factor_passkey_refused = No se ha podido utilizar esta llave de acceso. Pruebe con otra de su cuenta.
second_factor_skip = Continuar sin ella
second_factor_remember = { $count ->
    [one] No volver a preguntar en este navegador durante { $count } día
   *[other] No volver a preguntar en este navegador durante { $count } días
}
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
