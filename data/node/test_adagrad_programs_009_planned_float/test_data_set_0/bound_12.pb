BX_new_summed_aloneJ กฮํ๙ุค>ชนต>๑๊yพษ‘>p=ผ
-–>