BH2_newJ\e(,
,¶+