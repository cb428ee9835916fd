BX2_new_twin_captured_ifJ0N§вѓЧю?џ^7j-щї6xњ5†Jнї4 ыА(Bьї9S[G9О?Ч
-Шдцї