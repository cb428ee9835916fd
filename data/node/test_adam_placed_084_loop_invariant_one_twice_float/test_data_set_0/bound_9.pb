BH1_new_laterJ0õEÏLÆ>`H‡Pf²>óAcÄ’>nŽÃ{²>
\)à¦>xÚ~C¶Ë§>