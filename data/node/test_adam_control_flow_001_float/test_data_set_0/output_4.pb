BV_secondJ6©½¬Z‹¾
ä¾pó>