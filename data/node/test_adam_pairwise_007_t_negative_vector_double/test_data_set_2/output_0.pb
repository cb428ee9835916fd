BX_newJ8р0‘P™Ї?гтрY{т?
le|x@_l!гKlР?cг—е‰DA@·ЅW‘Щ$ћ?pЗЏ†oTь?