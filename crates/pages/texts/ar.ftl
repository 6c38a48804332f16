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

second_factor_title = أكِّد هويتك
second_factor_code = الرمز
second_factor_hint = الأرقام الستة التي يعرضها تطبيق المصادقة، أو أحد رموز الاسترداد الخاصة بك.
second_factor_wrong = هذا الرمز غير صحيح، أو سبق استخدامه. انتظر الرمز التالي وحاول مرة أخرى.
second_factor_confirm = تأكيد
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
consent_more = المزيد عن { $client }:

help = المساعدة
privacy_policy = سياسة الخصوصية
terms_of_service = شروط الخدمة

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
