"""The words that synthetic persons and products are made of: very common names, and invented ones joined from parts.
Data only.

Nothing here is taken from any data set. Within a list, earlier words are drawn more often.
"""

from __future__ import annotations


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _phrases(text: str) -> tuple[str, ...]:
    return tuple(" ".join(phrase.split()) for phrase in text.split("|"))


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    return tuple((one, other) for one, _, other in (pair.partition("=") for pair in text.split()))


FEMALE_NAMES = _words("""
    emma olivia anna sophie maria laura julia sarah emily hannah lisa charlotte grace amelia lucy chloe alice eva clara
    ella lena nina kate jessica rachel rebecca megan zoe ruby isla freya daisy molly elena sofia camila lucia paula
    carmen rosa teresa irene helena martha judith esther naomi leah miriam ruth deborah susan linda karen nancy betty
    helen sandra donna carol sharon michelle amanda melissa stephanie angela nicole heather diane julie joyce victoria
    kelly christina joan evelyn lauren andrea jacqueline gloria kathryn janice doris denise tammy marilyn amber danielle
    brittany diana abigail jane lori alexis tiffany kayla priya fatima aisha yuki mei ling ingrid astrid sigrid katarina
    """)
MALE_NAMES = _words("""
    james john thomas david michael daniel peter paul mark andrew william robert george henry jack oliver noah lucas leo
    max samuel benjamin alexander matthew joseph edward charles arthur oscar felix jonas simon adam nathan jacob luke
    ethan liam logan owen dylan callum connor ryan kevin brian jason scott eric stephen gregory patrick raymond jerry
    dennis walter tyler aaron jose adrian carlos luis miguel pablo diego marco antonio stefan martin frank klaus hans
    lars erik anders sven niels pieter johan tomas pavel ivan dmitri omar ali hassan ahmed yusuf raj arjun vikram kenji
    hiro wei chen phillip vincent russell louis howard eugene harry albert douglas keith gerald roger lawrence terry
    sean christian austin jesse dale glen neil graham stuart
    """)
SURNAMES = _words("""
    smith jones brown taylor wilson davies evans thomas johnson roberts walker wright robinson thompson white hughes
    edwards green hall wood harris lewis martin jackson clarke clark turner hill scott cooper morris ward moore king
    watson baker harrison morgan patel young allen mitchell james anderson phillips lee bell parker davis bennett miller
    cook shaw cox marshall murphy richards carter bailey gray mason reid stevens fisher webb palmer holmes rogers hunt
    knight mills grant barnes chapman pearson butler ellis stone garcia martinez lopez gonzalez rodriguez fernandez
    silva santos pereira costa rossi russo ferrari bianchi mueller schmidt schneider fischer weber meyer wagner becker
    hoffmann koch richter klein wolf neumann schwarz zimmermann nguyen tran kim park chen wang singh khan ali ahmed
    hussain novak kowalski nielsen hansen larsen andersson eriksson dubois laurent moreau lefevre fraser campbell
    stewart macdonald mackenzie macleod cameron douglas ferguson sinclair oconnor obrien kelly ryan sullivan doyle byrne
    walsh gallagher kennedy lynch quinn
    """)
SURNAME_STEMS = _words("""
    ash bram cart den elk fair gar hart ing kil lang mar nor oak pem quar rav sel thorn ul ver wes yar bex cran dun eld
    fen gold hol kes lin mor new pad ros sand tam wick
    """)
SURNAME_ENDS = _words("""
    ton ley ford well worth man son field wood by ham stead bury gate more
    """)

TITLES = {"f": ("ms", "mrs", "miss", "dr"), "m": ("mr", "mr", "mr", "dr")}

STREETS = _words("""
    station church park high mill victoria green school london york king queen albert north south chapel george garden
    bridge castle river lake forest meadow orchard cedar maple willow elm birch rowan hazel ivy rose lily heron robin
    swallow kestrel falcon badger fox stag harbour quarry foundry market college canal spring summer sunset ocean valley
    ridge summit granite marble copper silver amber coral jasper
    """)
STREET_STEMS = _words("""
    ald ban cor dal ever fern glen high kirk lower mont nether old penn red stony tall upper wind yew
    """)
STREET_ENDS = _words("""
    brook dale combe hurst mere moor ridge shaw stone vale view water wick wold
    """)
STREET_KINDS = _words("""
    street road place crescent circuit avenue close court drive lane way terrace
    """)

KEYBOARD = dict(
    _pairs("""
    a=qwsz b=vghn c=xdfv d=serfcx e=wsdr f=drtgvc g=ftyhbv h=gyujnb i=ujko j=huikmn k=jiolm l=kop m=njk n=bhjm o=iklp
    p=ol q=wa r=edft s=awedxz t=rfgy u=yhji v=cfgb w=qase x=zsdc y=tghu z=asx 0=9 1=2 2=13 3=24 4=35 5=46 6=57 7=68 8=79
    9=80
    """)
)
"""Keys that a finger may hit by mistake."""

LOOK_ALIKE = _pairs("""
    o=0 l=1 s=5 z=2 b=8 g=9 g=q m=rn d=cl w=vv i=l e=c h=n u=v n=ri ci=a 6=b 4=a nn=m f=t il=h y=v li=u
    """)
"""What a scanner takes for something else, either way."""

SOUND_ALIKE = _pairs("""
    ph=f ck=k ee=ea ll=l tt=t nn=n ss=s ie=y ey=y ai=ay ow=ou mac=mc sh=sch c=k z=s th=t er=ar or=er gh=g kn=n wr=r x=ks
    ei=ie v=f qu=kw oo=u ia=ya ce=se dge=ge tch=ch ise=ize
    """)
"""What sounds alike, either way."""

BRANDS = _words("""
    novara kestrix lumenor braxon veltano orbitek sunhaven polaris quintex daemar arcovia telmont fjordline mirabelle
    corvane zephyra halcyon tandem northgate alderon pixelon crestwell
    """)
PRODUCTS = _phrases("""
    digital camera| noise cancelling headphones| cordless drill| coffee maker| laser printer| wireless router| portable
    speaker| electric kettle| desk lamp| turntable| microwave oven| vacuum cleaner| hair dryer| memory card| camera
    lens| car stereo| dish washer| steam iron| phone case| external hard drive| alarm clock| air purifier| game
    controller| video projector
    """)
FEATURES = _phrases("""
    black| white| silver| stainless steel| compact| 5 piece| with remote control| bluetooth| usb| 2 year warranty|
    energy saving| high definition| 12 cup| rechargeable| water resistant| with carrying case| dual band| 1000 watt
    """)
ABBREVIATIONS = dict(
    _pairs("""
    black=blk white=wht silver=slv stainless=s/s with=w/ digital=dig wireless=wrls portable=port electric=elec
    external=ext high=hi definition=def warranty=wty piece=pc
    """)
)
"""How shops shorten words."""
