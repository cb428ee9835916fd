BV3J„
Ió^{H;uI