BV_new_X_scalar_firstJ мЮ„ҐЭ‚>=c· Иo>&SI-oW‘>ЎK¶Ѕ
Џ>