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
# $name is the name of the other provider.
login_provider = المتابعة باستخدام { $name }
login_provider_refused = لم يتم تسجيل دخولك هناك. حاول مرة أخرى أو سجّل الدخول بطريقة أخرى.
login_provider_failed = تعذّر تسجيل الدخول عبر المزوّد الآخر. حاول مرة أخرى أو سجّل الدخول بطريقة أخرى.
login_provider_unknown = لا يوجد هنا حساب مرتبط بالحساب الذي استخدمته هناك. سجّل الدخول أولًا بطريقة أخرى، ثم يمكنك ربطه في صفحة حسابك.
providers_title = مزوّدون آخرون
providers_text = سجّل الدخول هنا بحساب لديك في مكان آخر.
providers_connect = ربط
providers_disconnect = إلغاء الربط
providers_since = مرتبط منذ
account_connected = تم ربط الحساب.
account_disconnected = أُلغي ربط الحساب.
account_connect_failed = تعذّر ربط الحساب. ربما كان مرتبطًا بحساب آخر هنا، أو انتظرت طويلًا.
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

select_account_title = اختر حسابًا
select_account_in_use = قيد الاستخدام الآن
select_account_other = استخدام حساب آخر

consent_title = هل تسمح لتطبيق { $client }؟
consent_asks = يطلب { $client } ما يلي:
consent_signed_in = تم تسجيل الدخول باسم { $user }
consent_not_you = لست أنت؟
consent_redirect = ستنتقل إلى { $host }.
consent_client_host = اختار هذا التطبيق اسمه بنفسه، ولا يُعرف إلا بعنوانه: { $host }.
consent_allow = سماح
consent_deny = رفض
detail_yes = نعم
detail_no = لا
scope_openid = معرفة هويتك
scope_profile = الاطلاع على اسمك وملفك الشخصي
scope_email = الاطلاع على عنوان بريدك الإلكتروني
scope_address = الاطلاع على عنوانك البريدي
scope_phone = الاطلاع على رقم هاتفك
scope_groups = الاطلاع على المجموعات التي تنتمي إليها
scope_roles = الاطلاع على الأدوار الممنوحة لك
scope_offline_access = الاحتفاظ بصلاحية الوصول أثناء غيابك
consent_more = المزيد عن { $client }:

device_title = ربط جهاز
device_text = اكتب الرمز الذي يعرضه الجهاز.
device_code_label = الرمز على الجهاز
device_unknown = لا يوجد جهاز ينتظر بهذا الرمز. تأكد من أنه الرمز الذي يعرضه الجهاز؛ الرمز صالح لعشر دقائق ولمرة واحدة.
device_second_factor = يتطلب هذا التطبيق تسجيل الدخول بخطوتين. أعِدّ خطوة ثانية في صفحة أمان حسابك، ثم ابدأ من جديد على الجهاز.
device_expired = كانت هذه الصفحة قديمة. قارن الرمز وقرّر مرة أخرى.
device_consent_title = هل تسمح لتطبيق { $client } على جهاز؟
device_consent_code = هل يعرض الجهاز هذا الرمز؟
device_consent_warning = تابع فقط إذا كان الجهاز أمامك وبدأت ذلك عليه بنفسك. من أرسل إليك هذا الرمز أو هذا العنوان سيحصل على إمكانية الوصول إلى حسابك.
device_allowed_title = تم ربط الجهاز
device_allowed_text = عُد إلى الجهاز. يمكنك إغلاق هذه الصفحة.
device_denied_title = تم رفض الجهاز
device_denied_text = لن يحصل على إمكانية الوصول إلى حسابك. يمكنك إغلاق هذه الصفحة.

help = المساعدة
privacy_policy = سياسة الخصوصية
terms_of_service = شروط الخدمة

logout_title = هل تريد تسجيل الخروج؟
logout_question = سيتعين عليك تسجيل الدخول مجددًا في المرة القادمة.
logout_client = يطلب { $client } تسجيل خروجك.
logout_signed_in = تم تسجيل الدخول باسم { $user }
logout_applications = سيتم تسجيل خروجك أيضًا من هذه التطبيقات:
logout_confirm = تسجيل الخروج
logout_cancel = البقاء مسجَّلًا
logout_others = حسابات أخرى مسجَّل دخولها في هذا المتصفح:
logout_one = تسجيل الخروج من هذا الحساب
logout_all = تسجيل الخروج من جميع الحسابات
logged_out_title = تم تسجيل خروجك
logged_out_text = يمكنك إغلاق هذه النافذة بأمان.
logged_out_others = حسابات ما زال دخولها مسجَّلًا في هذا المتصفح:
logged_out_return = العودة إلى { $client }

error_request = لا يمكن إكمال هذا الطلب
error_not_found = لا يوجد شيء هنا
error_busy = يُرجى المحاولة مرة أخرى بعد لحظات
error_server = حدث خطأ من جانبنا
error_hint_client = عُد إلى { $client } وابدأ من جديد. إذا تكرر ذلك، فأبلغ القائمين عليه بما هو مكتوب أدناه.
error_open_again = فتح { $client } مرة أخرى
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

account_title = حسابك
account_own = حسابك
account_signed_in = سجّلت الدخول باسم { $user }
account_nav_overview = نظرة عامة
account_nav_profile = الملف الشخصي
account_nav_password = كلمة المرور
account_nav_security = مفاتيح المرور والرموز
account_nav_sessions = الجلسات
account_nav_applications = التطبيقات
account_nav_requests = الطلبات
account_nav_data = بياناتك
account_sign_out = تسجيل الخروج
account_switch = تبديل الحساب
account_lead_profile = اسمك وما هو معروف عنك غير ذلك
account_lead_password = تغيير كلمة المرور التي تسجّل الدخول بها
account_lead_security = تسجيل الدخول بلا كلمة مرور، أو برمز إضافي معها
account_lead_sessions = أين سجّلت الدخول وكيف تنهي ذلك
account_lead_applications = التطبيقات التي تستخدم حسابك وما يُسمح لها به
account_lead_requests = ما تطلب التطبيقات منك السماح به
account_lead_data = أخذ نسخة من بياناتك أو حذف حسابك
account_save = حفظ
account_none = لا شيء
account_saved = حُفظت تغييراتك.
account_password_changed = تغيّرت كلمة مرورك.
account_sessions_ended = انتهى ذلك. لم يعد أحد مسجّل الدخول هناك.
account_access_ended = أُنهي هذا الوصول.
account_expired = كانت هذه الصفحة قديمة ولم يتغيّر شيء. حاول مرة أخرى.
account_changed_meanwhile = تغيّر هذا في مكان آخر والصفحة مفتوحة. هذه حاله الآن؛ حاول مرة أخرى.
account_taken = إحدى هذه القيم لدى شخص آخر، ويجب أن تختلف من شخص إلى آخر. اختر غيرها.
account_wrong_password = ليست هذه كلمة مرورك الحالية.
account_passkey_added = أُضيف مفتاح المرور.
account_passkey_removed = أُزيل مفتاح المرور.
account_generator_set = أُعدّ تطبيق المصادقة.
account_generator_removed = أُزيل تطبيق المصادقة ومعه رموز الاسترداد.
account_wrong_code = ليس هذا هو الرمز الذي يعرضه التطبيق الآن. اكتب الرمز التالي.
account_passkey_failed = لم يُضف أي مفتاح مرور. حاول مرة أخرى.
account_last_way = هذا هو السبيل الوحيد لتسجيل الدخول إلى حسابك. عيّن كلمة مرور أو أضف مفتاح مرور أولًا.
account_too_short = يجب ألا تقل كلمة المرور الجديدة عن 8 أحرف.
account_too_long = كلمة المرور الجديدة أطول من اللازم.
account_common = كثيرون جدًّا يستخدمون كلمة المرور هذه، فهي من أول ما سيجرّبه أحدهم. اختر غيرها.
account_own_name = لا يجوز أن تكون كلمة مرورك اسمك أو عنوانك. اختر غيرها.
account_differ = كلمتا المرور الجديدتان مختلفتان. اكتب الكلمة نفسها مرتين.
account_busy = نحن مشغولون في هذه اللحظة. حاول مرة أخرى بعد بضع ثوانٍ.
account_not_confirmed = ضع علامة في المربّع إذا أردت حذف حسابك.
account_needs_password = اكتب كلمة مرورك.
account_bad_text = لا يجوز أن يزيد الاسم على 2048 بايت، ولا أن تكون فيه أحرف تحكّم.
account_wait = محاولات كثيرة جدًّا. حاول مرة أخرى بعد { $wait }.
account_invalid = لا يمكن حفظ هذا: { $reason }.

profile_email = عنوان البريد الإلكتروني
profile_unverified = غير مؤكَّد
profile_name = الاسم الكامل
profile_given_name = الاسم الأول
profile_family_name = اسم العائلة
profile_middle_name = الاسم الأوسط
profile_nickname = اللقب
profile_language = لغة رسائلك
profile_more = المزيد عنك
profile_yes = نعم
profile_no = لا
profile_lines = واحد في كل سطر
profile_required = مطلوب
profile_hidden = لا يُعرض ما هو محفوظ. اتركه فارغًا للإبقاء عليه.

password_present = كلمة المرور الحالية
password_new = كلمة المرور الجديدة
password_again = كلمة المرور الجديدة مرة أخرى
password_rule = 8 أحرف على الأقل. بضع كلمات لا رابط بينها يسهل تذكّرها ويصعب تخمينها.
password_end_others = سجّل خروجي من كل مكان آخر
password_change = تغيير كلمة المرور
password_set = تعيين كلمة المرور

security_passkeys = مفاتيح المرور
security_passkeys_text = مفتاح المرور يسجّل دخولك ببصمة إصبعك أو وجهك أو قفل جهازك. ليس هناك ما تتذكّره، ولا فائدة منه في صفحة مزيّفة.
security_passkeys_none = ليس لديك أي مفتاح مرور بعد.
security_passkeys_full = لا يتّسع حسابك لمزيد من مفاتيح المرور. أزل واحدًا أولًا.
security_passkey_name = الاسم
security_passkey_synced = متزامن بين الأجهزة
security_passkey_device = على جهاز واحد فقط
security_passkey_rename = تغيير الاسم
security_passkey_remove = إزالة
security_passkey_add = إضافة مفتاح مرور
security_passkey_add_text = أعطه اسمًا تعرفه به لاحقًا. بعد ذلك يسألك متصفّحك أين يحتفظ به.
security_passkey_exists = في هذا الجهاز مفتاح مرور لحسابك بالفعل.
security_passkey_unsupported = يتطلّب هذا JavaScript ومتصفّحًا يدعم مفاتيح المرور.
security_added = أُضيف
security_used = آخر استخدام
security_generator = تطبيق المصادقة
security_generator_text = تطبيق على هاتفك يعرض رمزًا جديدًا كل 30 ثانية. يُطلب منك حين تسجّل الدخول بكلمة مرورك.
security_generator_added = أُعدّ
security_generator_set_up = إعداد تطبيق
security_generator_replace = إعداد تطبيق آخر
security_generator_remove = إزالة
security_generator_required = يحتاج حسابك هنا إلى عامل ثانٍ، فيمكن استبدال التطبيق ولا يمكن إزالته.
security_codes = رموز الاسترداد
security_codes_text = كل رمز منها يحلّ مرة واحدة محلّ رمز من التطبيق. خذ رموزًا جديدة حين يبقى القليل منها: عندئذ تنتهي القديمة.
security_codes_left = غير مستخدمة
security_codes_new = الحصول على رموز جديدة

sessions_this = هذا المتصفّح
sessions_other = متصفّح آخر
sessions_device = الجهاز
sessions_address = بدأت من العنوان
sessions_begun = البداية
sessions_used = آخر استخدام
sessions_signed_in = تسجيل الدخول
sessions_method = بواسطة
sessions_end = إنهاء
sessions_end_others = إنهاء كل الجلسات الأخرى
sessions_only_this = لم تسجّل الدخول في أي مكان آخر.
sessions_told = إذا سجّل شخص ما الدخول إلى حسابك في متصفح لم تسجّل الدخول فيه من قبل، فسنبلغك بالبريد الإلكتروني.
sessions_more = يُعرض الأحدث من أصل { $total }.
method_pwd = كلمة المرور
method_otp = رمز لمرة واحدة
method_hwk = مفتاح أمان
method_swk = مفتاح مرور
method_mfa = عدة عوامل
method_admin_api = مسؤول

applications_none = لا يستخدم حسابك أي تطبيق.
applications_since = منذ
applications_used = آخر استخدام
applications_offline = يحتفظ بوصوله في غيابك
applications_session = سجّلت الدخول هناك بحسابك.
applications_host = لا يُعرف إلا بعنوانه: { $host }
applications_open = فتح
applications_end = إنهاء الوصول
applications_end_all = إنهاء كل وصول
applications_end_hint = التطبيق الذي أُنهي وصوله عليه أن يسألك من جديد.
requests_waiting = ينتظر أحد التطبيقات قرارك.
requests_none = لا يوجد تطبيق ينتظر قرارك.
requests_warning = اسمح فقط بما بدأته بنفسك في التطبيق أو مع موظفيه. من بدأ ذلك سيحصل على إمكانية الوصول إلى حسابك.
requests_message = رسالة التطبيق
requests_asked = وقت الطلب
requests_ends = ينتهي
requests_allowed = سُمح بالطلب.
requests_denied = رُفض الطلب.
requests_gone = انتهى هذا الطلب أو اتُّخذ قرار بشأنه من قبل.
requests_second_factor = يتطلب هذا التطبيق تسجيل الدخول بخطوتين. أعِدّ خطوة ثانية في صفحة أمان حسابك، ثم قرّر مرة أخرى.

data_export_title = نسخة من بياناتك
data_export_text = كل ما هو محفوظ عنك هنا في ملف JSON: الملف الشخصي والمجموعات والأدوار والجلسات وما يُسمح به للتطبيقات. ليست فيه كلمات مرور ولا أسرار أخرى.
data_export = تنزيل
data_delete_title = حذف حسابك
data_delete_text = يُحذف حسابك وكل ما يتبعه نهائيًّا. يُسجَّل خروجك من كل مكان، وتفقد التطبيقات وصولها.
data_delete_off = اطلب من أحد المسؤولين إن أردت حذف حسابك.
data_delete_confirm = أريد حذف حسابي نهائيًّا
data_delete = حذف حسابي
data_deleted_title = حُذف حسابك
data_deleted_text = سُجّل خروجك من كل مكان. يمكنك إغلاق هذه النافذة.
magic_link_send = أرسل إليّ رابط تسجيل الدخول
forgot_link = هل نسيت كلمة المرور؟
register_link = إنشاء حساب
email = البريد الإلكتروني
given_name = الاسم الأول
family_name = اسم العائلة
new_password = كلمة مرور جديدة
password_hint = 8 أحرف على الأقل. بضع كلمات متتالية يسهل تذكرها ويصعب تخمينها.
password_optional_hint = يمكنك ترك هذا الحقل فارغًا: عندها تسجّل الدخول بما يُرسل إلى عنوان بريدك الإلكتروني.
password_too_short = كلمة المرور هذه قصيرة جدًا: يلزم 8 أحرف على الأقل.
password_too_long = كلمة المرور هذه طويلة جدًا.
password_common = يستخدم كثيرون كلمة المرور هذه حتى إنها أول ما يُخمَّن. اختر غيرها.
password_breached = ترد كلمة المرور هذه في قائمة كلمات مرور سُرقت من خدمات أخرى، فهي معروفة لغيرك. لا يعني ذلك أن شيئًا حدث لك هنا. اختر غيرها، وغيّرها أينما استخدمتها.
password_own_name = كلمة المرور هذه هي اسمك أو عنوانك. اختر غيرها.
form_expired = انتهت صلاحية هذه الصفحة. يُرجى إرسالها مرة أخرى؛ ويجب أن يقبل متصفحك ملفات تعريف الارتباط لذلك.
begin_again = البدء من جديد
notice_continue = متابعة

register_title = إنشاء حساب
register_continue = متابعة
register_create = إنشاء الحساب
register_have_account = لدي حساب
register_email_wrong = هذا ليس عنوان بريد إلكتروني.
register_field_wrong = الحقل { $field } ناقص، أو ليس بالصيغة المطلوبة.
register_taken = إحدى هذه القيم تخص حسابًا آخر.
register_puzzle = يجب أن يشغّل متصفحك برنامجًا نصيًا قبل إرسال النموذج، لإبعاد الآلات. يُرجى السماح بالبرامج النصية ثم إرساله مرة أخرى.
registration_closed_title = لا يمكن إنشاء حسابات هنا
registration_closed_text = إذا كنت بحاجة إلى حساب، فاطلبه من القائمين على هذه الخدمة.
invitation_over_title = لم تعد هذه الدعوة صالحة
invitation_over_text = استُخدمت أو سُحبت، أو انتهت مدتها. اطلب دعوة أخرى، أو سجّل الدخول إذا كان لديك حساب.
account_exists_title = لديك حساب بالفعل
account_exists_text = لهذا العنوان حساب بالفعل. سجّل الدخول به.

look_at_mail_title = راجع بريدك
mailed_code_sent = أرسلنا رسالة إلى { $email }. اكتب الأرقام الستة الواردة فيها، أو افتح رابطها في هذا المتصفح.
mailed_code_proven = تأكد أن { $email } عنوانك. بقيت خطوة واحدة.
mailed_code_wrong = هذا ليس الرمز الصحيح.
mailed_code_used_up = لم يعد من الممكن استخدام هذا الرمز. ابدأ من جديد للحصول على رمز آخر.
mailed_code_again = لم تصل الرسالة؟ ابدأ من جديد
magic_link_sent = إذا كان للعنوان { $email } حساب، فقد أرسلنا إليه رابطًا. افتحه في هذا المتصفح. وإذا فُتح في متصفح آخر فسيعرض ستة أرقام؛ اكتبها هنا.
other_browser_title = عُد إلى متصفحك الآخر
other_browser_text = ليس هذا هو المتصفح الذي بدأت فيه. اكتب هناك الأرقام الستة الواردة في الرسالة.
other_browser_code = ليس هذا هو المتصفح الذي بدأت فيه. إذا كنت أنت من بدأ، فاكتب هناك هذه الأرقام:
link_over_title = لم يعد هذا الرابط صالحًا
link_over_text = استُخدم، أو انتهت مدته، أو تغيّر شيء في الحساب منذ إرساله.

forgot_title = كلمة المرور المنسية
forgot_text = نرسل إليك رابطًا تختار به كلمة مرور جديدة.
forgot_send = إرسال الرابط
forgot_back = العودة إلى تسجيل الدخول
forgot_name = اكتب اسم المستخدم أو عنوان بريدك الإلكتروني.
recovery_sent_text = إذا كان هناك حساب بهذا الاسم، فهناك رسالة برابط في طريقها إلى عنوانه. الرابط صالح لمدة 30 دقيقة.
reset_title = اختر كلمة مرور جديدة
reset_for = للحساب { $user }
reset_ends = عندئذٍ تنتهي كل الجلسات المسجَّلة في هذا الحساب.
reset_set = حفظ كلمة المرور
password_reset_title = تم تغيير كلمة المرور
password_reset_text = انتهت كل الجلسات التي كانت مسجَّلة في هذا الحساب. سجّل الدخول بكلمة المرور الجديدة.

email_present = عنوانك هو { $email }.
email_is_verified = تم تأكيده.
email_is_not_verified = لم يُؤكَّد بعد.
email_change = تأكيد أو تغيير
email_add = إضافة عنوان
email_prove = تأكيده برسالة
email_new = العنوان الجديد
email_hint = نرسل رسالة إليه. وإلى أن تؤكده يبقى العنوان الحالي.
email_back = العودة إلى حسابك
email_confirm_title = أكِّد عنوانك
email_proven_title = تم تأكيد عنوانك
email_proven_text = من الآن فصاعدًا تسجّل الدخول به، ونراسلك عليه.
