BX_new_XHJ éÏx∂í@Ne>ÔM†@…“VﬁD@Òt¶œ∑^
@