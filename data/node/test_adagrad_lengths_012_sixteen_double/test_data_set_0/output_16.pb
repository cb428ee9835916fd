BH1_newJQ¦_Οό?FυλZ–Γ
@