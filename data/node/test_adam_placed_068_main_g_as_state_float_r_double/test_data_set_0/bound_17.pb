BV1_new_twin_negativeJ .PÖ{ð‚…>”2F	;Š>L” ¨é–>Kùi*ÿ
y>