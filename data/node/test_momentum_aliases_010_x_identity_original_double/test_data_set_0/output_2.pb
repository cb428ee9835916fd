BX_other_negativeJ @Nζ
,¤υ?ΌEύδ\ε?ϋ‹…ÒΏςUη†ετσ?