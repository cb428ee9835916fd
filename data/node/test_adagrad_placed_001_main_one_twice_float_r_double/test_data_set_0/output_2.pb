BH1_new_capturedJFдл?K■?П╣╨?╗г@
Уf@╚eШ@