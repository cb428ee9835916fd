BX1_new_twin_laterJ ¨ÿþ"W¬Û<rù,¶UÌ<ü`Ã¦®
à<ÿUWíLÄÁ<