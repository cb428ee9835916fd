BV1_new_twinJ .PÖ{ð‚…>”2F	;Š>L” ¨é–>Kùi*ÿ
y>