# الصفحات بالعربية. معاني الأسماء في en.ftl.

login_title = تسجيل الدخول
login_continue = للمتابعة إلى { $client }
username = اسم المستخدم
password = كلمة المرور
sign_in = تسجيل الدخول
cancel = إلغاء
login_invalid_credentials = اسم المستخدم أو كلمة المرور غير صحيحة.
login_too_many_attempts = محاولات كثيرة جدًا. حاول مرة أخرى بعد { $wait }.
login_busy = الخدمة مشغولة في الوقت الحالي. يُرجى المحاولة مرة أخرى بعد بضع ثوانٍ.
login_expired = انتهت صلاحية هذه الصفحة. يُرجى تسجيل الدخول مرة أخرى؛ ويجب أن يقبل متصفحك ملفات تعريف الارتباط لذلك.
# بعد حرف الجر أو الظرف «بعد»
seconds = { $count ->
    [zero] { $count } ثانية
    [one] ثانية واحدة
    [two] ثانيتين
    [few] { $count } ثوانٍ
    [many] { $count } ثانية
   *[other] { $count } ثانية
}
minutes = { $count ->
    [zero] { $count } دقيقة
    [one] دقيقة واحدة
    [two] دقيقتين
    [few] { $count } دقائق
    [many] { $count } دقيقة
   *[other] { $count } دقيقة
}

username_or_email = اسم المستخدم أو البريد الإلكتروني
login_next = التالي
login_other_name = استخدام اسم آخر
login_email_code = إرسال رمز إلى بريدي الإلكتروني
login_passkey_refused = تعذّر تسجيل الدخول هنا بمفتاح المرور هذا. جرّب مفتاحًا آخر، أو سجّل الدخول بطريقة أخرى.
login_name_missing = اكتب أولًا اسم المستخدم أو البريد الإلكتروني.
passkey_sign_in = تسجيل الدخول بمفتاح مرور
passkey_needs_script = تحتاج مفاتيح المرور إلى JavaScript، ومتصفحك لا يشغّله هنا.
passkey_offer_title = سجّل الدخول أسرع في المرة القادمة
passkey_offer_text = أنشئ مفتاح مرور وسجّل الدخول ببصمة إصبعك أو وجهك أو رمز PIN لهذا الجهاز. يبقى آمنًا حتى إن عرف أحد كلمة مرورك.
passkey_offer_create = إنشاء مفتاح مرور
passkey_offer_later = ليس الآن
passkey_offer_failed = لم يُنشأ أي مفتاح مرور. يمكنك المحاولة مرة أخرى، أو القيام بذلك لاحقًا.
email_code_title = تحقّق من بريدك
email_code_sent = إذا كان { $user } يخص حسابًا، فقد أرسلنا رمزًا إلى عنوانه.
email_code_label = الرمز الوارد في البريد
email_code_hint = ستة أرقام، صالحة لمدة { $wait }. أبقِ هذه الصفحة مفتوحة.
email_code_wrong = هذا ليس الرمز الذي أرسلناه. انظر إلى أحدث رسالة وحاول مرة أخرى.
email_code_spent = لم يعد بالإمكان استخدام هذا الرمز: فهو قديم جدًا، أو جُرِّب مرات كثيرة. اطلب إرسال رمز جديد.
email_code_too_soon = هناك رمز في الطريق إليك. يمكنك طلب رمز آخر بعد { $wait }.
email_code_again = إرسال رمز جديد
email_code_other_way = تسجيل الدخول بطريقة أخرى

second_factor_title = أكِّد هويتك
second_factor_code = الرمز
second_factor_hint = الأرقام الستة التي يعرضها تطبيق المصادقة، أو أحد رموز الاسترداد الخاصة بك.
second_factor_wrong = هذا الرمز غير صحيح، أو سبق استخدامه. انتظر الرمز التالي وحاول مرة أخرى.
second_factor_confirm = تأكيد
second_factor_passkey = استخدم مفتاح مرور لحسابك.
second_factor_use_passkey = استخدام مفتاح مرور
second_factor_passkey_refused = تعذّر استخدام مفتاح المرور هذا. جرّب مفتاحًا آخر لحسابك.
second_factor_skip = المتابعة بدونه
second_factor_remember = { $count ->
    [zero] عدم السؤال مجددًا في هذا المتصفح لمدة { $count } يوم
    [one] عدم السؤال مجددًا في هذا المتصفح لمدة يوم واحد
    [two] عدم السؤال مجددًا في هذا المتصفح لمدة يومين
    [few] عدم السؤال مجددًا في هذا المتصفح لمدة { $count } أيام
    [many] عدم السؤال مجددًا في هذا المتصفح لمدة { $count } يومًا
   *[other] عدم السؤال مجددًا في هذا المتصفح لمدة { $count } يوم
}
second_factor_setup_title = إعداد تطبيق مصادقة
second_factor_setup_scan = امسح هذه الصورة ضوئيًا بتطبيق مصادقة على هاتفك، ثم اكتب الأرقام الستة التي يعرضها.
second_factor_setup_type = إذا تعذّر عليك مسحها، فاكتب هذا السر في التطبيق:
second_factor_setup_qr = رمز QR يحتوي على السر المكتوب أدناه
recovery_codes_title = رموز الاسترداد الخاصة بك
recovery_codes_text = احتفظ بهذه الرموز في مكان آمن. إذا فقدت هاتفك، فيمكنك تسجيل الدخول بكل رمز منها مرة واحدة. لن تُعرض مرة أخرى.
recovery_codes_continue = احتفظتُ بها

consent_title = هل تسمح لتطبيق { $client }؟
consent_asks = يطلب { $client } ما يلي:
consent_signed_in = تم تسجيل الدخول باسم { $user }
consent_not_you = لست أنت؟
consent_redirect = ستنتقل إلى { $host }.
consent_allow = سماح
consent_deny = رفض
scope_openid = معرفة هويتك
scope_profile = الاطلاع على اسمك وملفك الشخصي
scope_email = الاطلاع على عنوان بريدك الإلكتروني
scope_address = الاطلاع على عنوانك البريدي
scope_phone = الاطلاع على رقم هاتفك
scope_groups = الاطلاع على المجموعات التي تنتمي إليها
scope_roles = الاطلاع على الأدوار الممنوحة لك
scope_offline_access = الاحتفاظ بصلاحية الوصول أثناء غيابك

logout_title = هل تريد تسجيل الخروج؟
logout_question = سيتعين عليك تسجيل الدخول مجددًا في المرة القادمة.
logout_client = يطلب { $client } تسجيل خروجك.
logout_signed_in = تم تسجيل الدخول باسم { $user }
logout_confirm = تسجيل الخروج
logout_cancel = البقاء مسجَّلًا
logged_out_title = تم تسجيل خروجك
logged_out_text = يمكنك إغلاق هذه النافذة بأمان.
logged_out_return = العودة إلى { $client }

error_request = لا يمكن إكمال هذا الطلب
error_not_found = لا يوجد شيء هنا
error_busy = يُرجى المحاولة مرة أخرى بعد لحظات
error_server = حدث خطأ من جانبنا
error_hint_client = عُد إلى { $client } وابدأ من جديد. إذا تكرر ذلك، فأبلغ القائمين عليه بما هو مكتوب أدناه.
error_hint_request = عُد إلى التطبيق الذي أرسلك إلى هنا وابدأ من جديد. إذا تكرر ذلك، فأبلغ القائمين عليه بما هو مكتوب أدناه.
error_hint_wait = انتظر لحظة، ثم أعد تحميل هذه الصفحة.
error_hint_server = حاول مرة أخرى بعد لحظات. إذا استمرت المشكلة، فأبلغ القائمين على هذه الخدمة بما هو مكتوب أدناه.
error_code = الخطأ
error_request_id = الطلب

form_post_title = لحظة من فضلك
form_post_text = نعيدك إلى التطبيق.
form_post_button = متابعة

index_text = هذا موفِّر OpenID Connect. ترسلك التطبيقات إلى هنا لتسجيل الدخول.
index_issuer = جهة الإصدار
index_discovery = مستند الاكتشاف

silent_title = التجديد الصامت

outbox_title = البريد الصادر
outbox_text = آخر 100 رسالة من هذا الخادم. في وضع التطوير تُحفظ هنا، سواء أكان خادم البريد مُعدًّا أم لا.
outbox_empty = لم تُرسل أي رسالة بعد.
outbox_to = إلى
