BV3JôMSp÷tž¾vF
Ò¢¢>l8z”(T¤>