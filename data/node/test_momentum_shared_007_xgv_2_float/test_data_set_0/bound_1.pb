BV_newJ +‚ÒiZqt>
- ‰'[c>—Ê0È/>*ºTL³–>