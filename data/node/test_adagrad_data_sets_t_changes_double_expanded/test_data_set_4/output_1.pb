BH_newJ e
Kц-E@*„k!щЎ@GЃкЫ\ё@\BL|¤Щ	@