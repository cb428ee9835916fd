BV1_new_capturedJ|*»>ª	?º
ò¾8I>ø%š>aV+¿