B
X_new_XGVHJ Ë4ÜSie>àzÌ½°m>²tù§m>ƒ‚ñ(Èf>