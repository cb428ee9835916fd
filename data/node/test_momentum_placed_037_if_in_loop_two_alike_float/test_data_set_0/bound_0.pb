BX1_new_captured_if_loopJ@RµφZm±>3ZuΰI­>°ΟpHΑ>ετ
ρ‹±>RµφZm±>3ZuΰI­>°ΟpHΑ>ετ
ρ‹±>