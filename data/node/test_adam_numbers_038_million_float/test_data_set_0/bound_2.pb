BH_newJ 
„тсЏУn>ЙYґ3®ѕp>†eЮD8x>h.ћіПr>