BV_newJ ŸÝüvïhœ>“Hz
ªk§>•æ[mO£œ>±Ë{†€1¨>