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
# $name is the name of the other provider.
login_provider = Continuar con { $name }
login_provider_refused = Allí no ha iniciado sesión. Inténtelo de nuevo o entre de otra forma.
login_provider_failed = No se ha podido entrar con el otro proveedor. Inténtelo de nuevo o entre de otra forma.
login_provider_unknown = Ninguna cuenta de aquí está conectada con la que ha usado allí. Entre primero de otra forma; después podrá conectarla en la página de su cuenta.
providers_title = Otros proveedores
providers_text = Entre aquí con una cuenta que tiene en otro sitio.
providers_connect = Conectar
providers_disconnect = Desconectar
providers_since = Conectada desde
account_connected = La cuenta está conectada.
account_disconnected = La cuenta está desconectada.
account_connect_failed = No se ha podido conectar la cuenta. Puede que esté conectada con otra cuenta de aquí, o que haya esperado demasiado.
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

select_account_title = Elija una cuenta
select_account_in_use = en uso ahora
select_account_other = Usar otra cuenta

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
consent_more = Más información sobre { $client }:

help = Ayuda
privacy_policy = Política de privacidad
terms_of_service = Condiciones del servicio

logout_title = ¿Cerrar sesión?
logout_question = La próxima vez tendrá que iniciar sesión de nuevo.
logout_client = { $client } solicita cerrar su sesión.
logout_signed_in = Ha iniciado sesión como { $user }
logout_applications = También se cerrará su sesión en estas aplicaciones:
logout_confirm = Cerrar sesión
logout_cancel = Mantener la sesión
logout_others = En este navegador también hay sesión iniciada con:
logout_one = Cerrar la sesión de esta cuenta
logout_all = Cerrar la sesión de todas las cuentas
logged_out_title = Ha cerrado la sesión
logged_out_text = Ya puede cerrar esta ventana.
logged_out_others = En este navegador sigue habiendo sesión iniciada con:
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

account_title = Su cuenta
account_own = su cuenta
account_signed_in = Ha iniciado sesión como { $user }
account_nav_overview = Resumen
account_nav_profile = Perfil
account_nav_password = Contraseña
account_nav_security = Llaves de acceso y códigos
account_nav_sessions = Sesiones
account_nav_applications = Aplicaciones
account_nav_data = Sus datos
account_sign_out = Cerrar sesión
account_switch = Cambiar de cuenta
account_lead_profile = Su nombre y lo demás que se sabe de usted
account_lead_password = Cambiar la contraseña con la que inicia sesión
account_lead_security = Iniciar sesión sin contraseña, o además con un código
account_lead_sessions = Dónde tiene la sesión iniciada y cómo cerrarla
account_lead_applications = Qué aplicaciones usan su cuenta y qué pueden hacer
account_lead_data = Obtener una copia de sus datos o eliminar su cuenta
account_save = Guardar
account_none = Ninguno
account_saved = Los cambios se han guardado.
account_password_changed = La contraseña se ha cambiado.
account_sessions_ended = Terminado. Allí ya no hay ninguna sesión iniciada.
account_access_ended = Ese acceso se ha retirado.
account_expired = Esta página estaba caducada y no se ha cambiado nada. Inténtelo de nuevo.
account_changed_meanwhile = Esto se cambió en otro sitio mientras la página estaba abierta. Así está ahora; inténtelo de nuevo.
account_taken = Otra persona tiene uno de estos valores, que debe ser distinto para cada cual. Elija otro.
account_wrong_password = Esa no es su contraseña actual.
account_passkey_added = La llave de acceso se ha añadido.
account_passkey_removed = La llave de acceso se ha quitado.
account_generator_set = La aplicación de autenticación está configurada.
account_generator_removed = La aplicación de autenticación se ha quitado, junto con los códigos de recuperación.
account_wrong_code = Ese no es el código que muestra ahora la aplicación. Escriba el siguiente.
account_passkey_failed = No se ha añadido ninguna llave de acceso. Inténtelo de nuevo.
account_last_way = Es la única forma de entrar en su cuenta. Establezca antes una contraseña o añada una llave de acceso.
account_too_short = La nueva contraseña debe tener al menos 8 caracteres.
account_too_long = La nueva contraseña es demasiado larga.
account_common = Muchísima gente usa esta contraseña, así que es de las primeras que alguien probaría. Elija otra.
account_own_name = La contraseña no puede ser su nombre ni su dirección. Elija otra.
account_differ = Las dos contraseñas nuevas son distintas. Escriba la misma dos veces.
account_busy = Estamos ocupados en este momento. Inténtelo de nuevo en unos segundos.
account_not_confirmed = Marque la casilla si quiere eliminar su cuenta.
account_needs_password = Escriba su contraseña.
account_bad_text = Un nombre puede tener 2048 bytes como máximo y ningún carácter de control.
account_wait = Demasiados intentos. Inténtelo de nuevo en { $wait }.
account_invalid = Esto no se puede guardar: { $reason }.

profile_email = Correo electrónico
profile_unverified = sin verificar
profile_name = Nombre completo
profile_given_name = Nombre
profile_family_name = Apellidos
profile_middle_name = Segundo nombre
profile_nickname = Apodo
profile_more = Más sobre usted
profile_yes = Sí
profile_no = No
profile_lines = Uno en cada línea
profile_required = obligatorio
profile_hidden = Lo guardado no se muestra. Déjelo vacío para conservarlo.

password_present = Contraseña actual
password_new = Contraseña nueva
password_again = Repita la contraseña nueva
password_rule = Al menos 8 caracteres. Unas cuantas palabras sin relación entre sí son fáciles de recordar y difíciles de adivinar.
password_end_others = Cerrar mi sesión en todos los demás sitios
password_change = Cambiar la contraseña
password_set = Establecer la contraseña

security_passkeys = Llaves de acceso
security_passkeys_text = Con una llave de acceso inicia sesión mediante su huella, su cara o el bloqueo de su dispositivo. No hay nada que recordar, y en una página falsa no sirve de nada.
security_passkeys_none = Aún no tiene ninguna llave de acceso.
security_passkeys_full = Su cuenta no puede tener más llaves de acceso. Quite antes alguna.
security_passkey_name = Nombre
security_passkey_synced = sincronizada entre dispositivos
security_passkey_device = en un solo dispositivo
security_passkey_rename = Cambiar el nombre
security_passkey_remove = Quitar
security_passkey_add = Añadir una llave de acceso
security_passkey_add_text = Póngale un nombre por el que la reconozca. Después, su navegador le preguntará dónde guardarla.
security_passkey_exists = Este dispositivo ya tiene una llave de acceso de su cuenta.
security_passkey_unsupported = Hace falta JavaScript y un navegador que admita llaves de acceso.
security_added = Añadida
security_used = Último uso
security_generator = Aplicación de autenticación
security_generator_text = Una aplicación de su teléfono muestra un código nuevo cada 30 segundos. Se le pide cuando inicia sesión con la contraseña.
security_generator_added = Configurada
security_generator_set_up = Configurar una aplicación
security_generator_replace = Configurar otra aplicación
security_generator_remove = Quitar
security_generator_required = Aquí todos necesitan un segundo factor, así que la aplicación se puede sustituir, pero no quitar.
security_codes = Códigos de recuperación
security_codes_text = Cada uno sustituye una vez a un código de la aplicación. Pida otros cuando queden pocos: los anteriores dejan de valer.
security_codes_left = Sin usar
security_codes_new = Obtener códigos nuevos

sessions_this = Este navegador
sessions_other = Otro navegador
sessions_device = Dispositivo
sessions_address = Iniciada desde la dirección
sessions_begun = Comienzo
sessions_used = Último uso
sessions_signed_in = Inicio de sesión
sessions_method = Mediante
sessions_end = Cerrar
sessions_end_others = Cerrar todas las demás
sessions_only_this = No tiene la sesión iniciada en ningún otro sitio.
sessions_told = Si alguien inicia sesión en su cuenta en un navegador en el que usted nunca la ha iniciado, se le avisa por correo electrónico.
sessions_more = Se muestran las más recientes, de { $total } en total.
method_pwd = contraseña
method_otp = código de un solo uso
method_hwk = llave de seguridad
method_swk = llave de acceso
method_mfa = varios factores
method_admin_api = un administrador

applications_none = Ninguna aplicación usa su cuenta.
applications_since = Desde
applications_used = Último uso
applications_offline = Conserva el acceso mientras usted no está
applications_session = Ha iniciado sesión allí con su cuenta.
applications_end = Retirar el acceso
applications_end_all = Retirar todos los accesos
applications_end_hint = Una aplicación a la que se le retira el acceso tiene que volver a pedírselo.

data_export_title = Una copia de sus datos
data_export_text = Todo lo que hay guardado aquí sobre usted, en un archivo JSON: perfil, grupos y roles, sesiones y lo que pueden hacer las aplicaciones. No contiene contraseñas ni otros secretos.
data_export = Descargar
data_delete_title = Eliminar su cuenta
data_delete_text = Su cuenta y todo lo que le pertenece se eliminan para siempre. Se cierra su sesión en todas partes y las aplicaciones pierden el acceso.
data_delete_off = Diríjase a un administrador si quiere que se elimine su cuenta.
data_delete_confirm = Quiero eliminar mi cuenta para siempre
data_delete = Eliminar mi cuenta
data_deleted_title = Su cuenta se ha eliminado
data_deleted_text = Se ha cerrado su sesión en todas partes. Ya puede cerrar esta ventana.
magic_link_send = Enviarme un enlace de acceso
forgot_link = ¿Olvidó su contraseña?
register_link = Crear una cuenta
email = Correo electrónico
given_name = Nombre
family_name = Apellidos
new_password = Nueva contraseña
password_hint = Al menos 8 caracteres. Varias palabras seguidas son fáciles de recordar y difíciles de adivinar.
password_optional_hint = Puede dejar este campo vacío: entonces iniciará sesión con lo que se envíe a su dirección de correo electrónico.
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
email_change = Confirmar o cambiar
email_prove = Confirmarla con un mensaje
email_new = Nueva dirección
email_hint = Le enviamos un mensaje. Hasta que la confirme, se mantiene la dirección actual.
email_back = Volver a su cuenta
email_confirm_title = Confirme su dirección
email_proven_title = Su dirección está confirmada
email_proven_text = Desde ahora inicia sesión con ella, y a ella le escribimos.
