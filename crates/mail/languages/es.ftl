# El correo en español. El significado de los nombres está en en.ftl.

minutes = { $count ->
    [one] 1 minuto
   *[other] { $count } minutos
}
hours = { $count ->
    [one] 1 hora
   *[other] { $count } horas
}
days = { $count ->
    [one] 1 día
   *[other] { $count } días
}

label-device = Dispositivo
label-address = Dirección
label-place = Lugar
label-time = Hora
label-provider = Proveedor
label-passkey = Llave de acceso
label-email = Nueva dirección
label-help = Ayuda
label-policy = Política de privacidad
label-terms = Condiciones del servicio
footer = Este mensaje ha sido enviado por { $issuer }.

email-code = Su código para { $issuer }
    .text = Introduzca este código para iniciar sesión en { $issuer }:
    .note = Es válido durante { $lifetime } y solo puede utilizarse una vez. No se lo dé a nadie, sea quien sea quien lo pida. Si no quería iniciar sesión, ignore este mensaje.

magic-link = Iniciar sesión en { $issuer }
    .text = Abra este enlace, en el navegador en el que lo pidió, para iniciar sesión en { $issuer }.
    .action = Iniciar sesión
    .note = Es válido durante { $lifetime } y solo puede utilizarse una vez. Si no quería iniciar sesión, ignore este mensaje y no lo reenvíe.

magic-link-or-code = Iniciar sesión en { $issuer }
    .text = Abra este enlace en el navegador en el que lo pidió, o introduzca allí el código, para iniciar sesión en { $issuer }:
    .action = Iniciar sesión
    .note = El enlace y el código son válidos durante { $lifetime }, para un solo inicio de sesión. No se los dé a nadie, sea quien sea quien los pida. Si no quería iniciar sesión, ignore este mensaje.

reset-password = Una nueva contraseña para { $issuer }
    .text = Alguien ha solicitado una nueva contraseña para su cuenta en { $issuer }. Si ha sido usted, abra este enlace y elija una.
    .action = Elegir una nueva contraseña
    .note = Es válido durante { $lifetime } y solo puede utilizarse una vez. Si no ha sido usted, ignore este mensaje: su contraseña no cambia.

registration = Su código para { $issuer }
    .text = Introduzca este código para abrir su cuenta en { $issuer }, o abra el enlace en el mismo navegador:
    .action = Abrir mi cuenta
    .note = Es válido durante { $lifetime }. No se lo dé a nadie, sea quien sea quien lo pida. Si no quería abrir una cuenta, ignore este mensaje: no se abrirá ninguna.

account-exists = Ya tiene una cuenta en { $issuer }
    .text = Alguien, quizá usted, quería usar esta dirección para una cuenta en { $issuer }. Ya tiene una: inicie sesión con esta dirección. Si ya no recuerda la contraseña, elija una nueva.
    .action = Elegir una contraseña nueva
    .note = Si no ha sido usted, ignore este mensaje: no se ha cambiado nada.

verify-email = Confirme su dirección para { $issuer }
    .text = Confirme que esta dirección es suya para que { $issuer } pueda utilizarla en su cuenta.
    .action = Confirmar esta dirección
    .note = El enlace es válido durante { $lifetime }. Si no ha introducido esta dirección en { $issuer }, ignore este mensaje.

invitation = Su invitación a { $issuer }
    .text = Se le invita a abrir una cuenta en { $issuer }.
    .action = Abrir una cuenta
    .note = La invitación es válida durante { $lifetime }. Si no la esperaba, ignore este mensaje.

account-unknown = No hay ninguna cuenta en { $issuer }
    .text = Alguien, quizá usted, ha introducido esta dirección en { $issuer }. Ninguna cuenta tiene esta dirección.
    .action = Abrir una cuenta
    .note = Si ha sido usted, quizá se registró con otra dirección. Si no, ignore este mensaje.

new-device = Nuevo inicio de sesión en { $issuer }
    .text = Alguien ha iniciado sesión en su cuenta en { $issuer } con un dispositivo que no se había utilizado antes.
    .note = Si ha sido usted, no tiene que hacer nada. Si no, cambie su contraseña y cierre todas las sesiones.

new-passkey = Nueva llave de acceso en { $issuer }
    .text = Se ha añadido una llave de acceso a su cuenta en { $issuer }.
    .note = Si ha sido usted, no tiene que hacer nada. Si no, inicie sesión, elimine la llave de acceso, cambie su contraseña y cierre todas las sesiones.

passkey-removed = Llave de acceso eliminada en { $issuer }
    .text = Se ha eliminado una llave de acceso de su cuenta en { $issuer }.
    .note = Si ha sido usted, no tiene que hacer nada. Si no, inicie sesión, cambie su contraseña y cierre todas las sesiones.

provider-connected = Nueva conexión en { $issuer }
    .text = Su cuenta en { $issuer } se ha conectado con una cuenta de otro proveedor, con la que se puede entrar a partir de ahora.
    .note = Si ha sido usted, no tiene que hacer nada. Si no, inicie sesión, desconéctela, cambie su contraseña y cierre todas las sesiones.

provider-disconnected = Conexión eliminada en { $issuer }
    .text = Su cuenta en { $issuer } se ha desconectado de una cuenta de otro proveedor.
    .note = Si ha sido usted, no tiene que hacer nada. Si no, inicie sesión, cambie su contraseña y cierre todas las sesiones.

new-generator = Nueva aplicación de autenticación en { $issuer }
    .text = Se ha configurado una aplicación de autenticación para su cuenta en { $issuer }. Se le pedirán sus códigos cuando inicie sesión con la contraseña.
    .note = Si ha sido usted, no tiene que hacer nada. Si no, avise de inmediato a los responsables de este servicio.

new-recovery-codes = Nuevos códigos de recuperación en { $issuer }
    .text = Se han generado nuevos códigos de recuperación para su cuenta en { $issuer }. Los anteriores ya no son válidos.
    .note = Si ha sido usted, no tiene que hacer nada. Si no, inicie sesión, cambie su contraseña y cierre todas las sesiones, y avise a los responsables de este servicio.

generator-removed = Aplicación de autenticación eliminada en { $issuer }
    .text = Se ha eliminado la aplicación de autenticación de su cuenta en { $issuer }, junto con los códigos de recuperación. Ya no se pide ningún código al iniciar sesión con la contraseña.
    .note = Si ha sido usted, no tiene que hacer nada. Si no, inicie sesión, cambie su contraseña y cierre todas las sesiones.

password-changed = Se ha cambiado su contraseña en { $issuer }
    .text = Se ha cambiado la contraseña de su cuenta en { $issuer }.
    .note = Si ha sido usted, no tiene que hacer nada. Si no, solicite de inmediato una nueva contraseña y avise a los responsables de este servicio.

email-changed = Se ha cambiado su dirección en { $issuer }
    .text = Su cuenta en { $issuer } tiene ahora otra dirección. Este es el último mensaje a la anterior.
    .note = Si ha sido usted, no tiene que hacer nada. Si no, avise a los responsables de este servicio.

email-removed = Se ha eliminado su dirección en { $issuer }
    .text = Su cuenta en { $issuer } ya no tiene ninguna dirección de correo. Este es el último mensaje a esta dirección.
    .note = Si lo ha pedido usted, no tiene que hacer nada. Si no, avise a los responsables de este servicio.
