BX2_newJS´4¨z>¹©57™pf>
r²Ùx2i>