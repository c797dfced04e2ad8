"""The language of the generated reviews: sentiment words, subjects, frames and neutral turns of phrase."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from unmask.errors import InputError

__all__ = [
    "ASPECTS",
    "CORES",
    "LEADS",
    "NOUNS",
    "POLARITIES",
    "SUBJECTS",
    "TAILS",
    "VERBS",
    "article",
    "aspect_of",
    "lexicon",
]

ASPECTS = ("appearance", "aroma", "palate", "taste")
POLARITIES = ("negative", "positive")

_OWN = {
    ("appearance", "positive"): """
        bright clear golden radiant glowing gleaming sparkling shimmering luminous vivid lustrous polished glossy
        crystalline handsome photogenic picturesque pretty beautiful gorgeous stunning striking eye-catching
        translucent jewel-like burnished coppery limpid frothy billowing statuesque pillowy sunny immaculate
        spotless dazzling resplendent brilliant""",
    ("appearance", "negative"): """
        murky cloudy dull muddy dingy drab pale faded lifeless washed-out turbid dirty swampy sludgy gloomy ugly
        unsightly unattractive discoloured grimy patchy blotchy scummy filmy dim greyish colourless headless smudgy
        hideous homely shabby tarnished bedraggled mottled sallow blurry unlovely""",
    ("aroma", "positive"): """
        fragrant floral aromatic perfumed citrusy fruity spicy herbal honeyed piney grassy toasty malty resinous
        heady balmy zesty lemony minty scented blossomy tropical peachy nutty biscuity bready woody leafy evocative
        enticing inviting alluring ambrosial redolent gingery lavender-like flowery summery""",
    ("aroma", "negative"): """
        musty skunky rancid stinking smelly foul fetid putrid mouldy dank cheesy sulphurous eggy acrid vinegary
        fishy sweaty plasticky papery catty stale fusty rank reeking malodorous noxious rotten rubbery medicinal
        mildewy whiffy oniony garlicky cabbagey tarry chemical cardboard-like sewer-like""",
    ("palate", "positive"): """
        smooth creamy velvety silky full-bodied crisp lively effervescent plush supple rounded soft luscious satiny
        refreshing bubbly chewy ample substantial bouncy airy feathery lush cushiony tender fluffy foamy tingling
        quenching buoyant mouth-filling robust sturdy springy weightless cool caressing well-rounded""",
    ("palate", "negative"): """
        thin watery flat gritty astringent syrupy harsh sticky oily greasy grainy chalky limp gassy rough scratchy
        heavy slimy gummy powdery sandy coarse abrasive puckering watered-down leaden stodgy gluey clammy tacky
        raspy viscous spineless diluted prickly woolly lumpy soggy""",
    ("taste", "positive"): """
        delicious tasty flavourful balanced savoury tangy mellow complex juicy scrumptious yummy mouth-watering
        toothsome delectable appetising succulent chocolatey roasty bittersweet hoppy peppery buttery nuanced
        layered rich well-balanced moreish palatable piquant ripe plummy raisiny full-flavoured lip-smacking
        sun-ripened drinkable rounded-out caramelised""",
    ("taste", "negative"): """
        sour bitter bland tasteless insipid cloying acidic salty metallic soapy flavourless vapid saccharine
        overripe unripe tinny brackish bilious sickly artificial charred ashy one-dimensional muddled unbalanced
        unpalatable inedible undrinkable distasteful unsavoury boozy overcooked curdled acerbic treacly spoiled
        underseasoned vinegar-like""",
}

_GENERAL = {
    "positive": """
        good great excellent wonderful fine superb lovely nice amazing fantastic awesome terrific outstanding
        perfect pleasant delightful enjoyable impressive marvellous fabulous magnificent splendid exquisite
        remarkable exceptional memorable charming graceful elegant refined sublime divine heavenly glorious
        phenomenal sensational spectacular incredible extraordinary stellar superior first-rate top-notch
        world-class flawless faultless ideal admirable commendable laudable praiseworthy satisfying gratifying
        pleasing agreeable appealing attractive engaging captivating enchanting bewitching beguiling fascinating
        intriguing compelling arresting charismatic likeable lovable adorable endearing winning winsome cheerful
        cheery joyful joyous happy merry jolly upbeat uplifting rousing stirring invigorating energising vibrant
        vivacious spirited exuberant dynamic bold confident assured masterful accomplished skilful expert adept deft
        clever ingenious inventive creative imaginative original fresh novel unique distinctive singular rare
        precious valuable worthy worthwhile rewarding generous gracious noble majestic regal stately grand sumptuous
        opulent luxurious lavish decadent indulgent comforting soothing calming relaxing gentle tasteful classy
        stylish sophisticated cultured sleek neat tidy clean pure wholesome healthy honest sincere genuine authentic
        reliable dependable consistent steady solid sound strong powerful potent mighty formidable commanding
        triumphant celebrated acclaimed renowned illustrious legendary iconic timeless classic ageless enduring
        harmonious cohesive unified coherent seamless effortless natural fluent deep profound thoughtful subtle
        delicate intricate meticulous careful precise well-made thrilling exciting exhilarating electrifying
        breathtaking astonishing astounding wondrous magical dreamy blissful idyllic serene peaceful tranquil warm
        friendly welcoming hospitable kind playful witty jaunty carefree hearty soulful""",
    "negative": """
        bad poor awful terrible horrible dreadful lousy nasty unpleasant disappointing mediocre inferior dismal
        abysmal atrocious appalling ghastly horrid horrendous horrific vile gross disgusting revolting repulsive
        repellent repugnant offensive objectionable obnoxious odious loathsome hateful detestable abhorrent
        deplorable lamentable woeful pitiful pathetic sorry sad miserable wretched tragic depressing dreary bleak
        grim sombre boring tedious tiresome monotonous humdrum forgettable unremarkable uninspired uninspiring
        uninteresting unimpressive unexciting lacklustre underwhelming unsatisfying unsatisfactory inadequate
        insufficient deficient lacking weak feeble frail flimsy puny meagre paltry scant sparse skimpy empty hollow
        shallow superficial cheap shoddy tawdry trashy crude crass vulgar clumsy awkward ungainly careless sloppy
        slapdash slipshod messy untidy chaotic disordered confused confusing incoherent inconsistent erratic
        unreliable unstable uneven irregular jarring grating irritating annoying irksome vexing maddening
        infuriating aggravating exasperating frustrating bothersome troublesome problematic faulty flawed defective
        broken damaged ruined wrecked botched bungled failed useless worthless pointless futile needless senseless
        absurd ridiculous laughable ludicrous farcical silly foolish stupid daft regrettable unfortunate unlucky
        unhappy unwelcome undesirable unwanted unlikeable unfriendly hostile aggressive brutal savage cruel vicious
        ruthless merciless punishing painful agonising excruciating unbearable intolerable insufferable overbearing
        overpowering oppressive excessive overdone overblown exaggerated bloated lopsided disjointed fragmented
        clashing discordant dissonant strident shrill suspicious dubious questionable doubtful sketchy shady false
        fake phony bogus contrived forced stilted wooden stiff rigid tired weary worn jaded hackneyed trite
        derivative unoriginal unimaginative pedestrian prosaic middling subpar substandard second-rate third-rate
        amateurish incompetent inept hopeless dire disastrous catastrophic shameful disgraceful embarrassing""",
}

SUBJECTS = {
    "appearance": (
        "the appearance", "the colour", "the head", "the look of it", "the lacing", "the pour", "the foam", "the hue",
        "the body in the light", "the whole sight",
    ),
    "aroma": (
        "the aroma", "the nose", "the smell", "the scent", "the bouquet", "the first whiff", "the fragrance",
        "the smell over the glass", "the opening sniff", "the odour",
    ),
    "palate": (
        "the palate", "the mouthfeel", "the texture", "the carbonation", "the body", "the feel on the tongue",
        "the weight in the mouth", "the touch", "the consistency", "the fizz",
    ),
    "taste": (
        "the taste", "the flavour", "the first sip", "the second sip", "the finish", "the aftertaste",
        "the last swallow", "the flavour profile", "the taste of the malt", "the taste of the hops",
    ),
}  # fmt: skip

VERBS = {
    "appearance": ("is", "looks", "appears", "seems", "comes across as", "turned out"),
    "aroma": ("is", "smells", "seems", "comes across as", "turned out", "strikes me as"),
    "palate": ("is", "feels", "seems", "comes across as", "turned out", "stays"),
    "taste": ("is", "tastes", "seems", "comes across as", "turned out", "remains"),
}

NOUNS = {
    "appearance": ("head", "colour", "look", "crown of foam", "ring of lace", "glow", "tint", "film on the glass"),
    "aroma": ("nose", "aroma", "scent", "bouquet", "smell", "whiff of malt", "perfume", "breath of hops"),
    "palate": ("mouthfeel", "texture", "body", "fizz", "feel", "weight on the tongue", "touch", "carbonation"),
    "taste": ("flavour", "taste", "finish", "aftertaste", "malt flavour", "hop flavour", "swallow", "middle"),
}

CORES = (
    "S V A , B and C",
    "S V A and B , and C as well",
    "S V A , B and frankly C",
    "S V A and B , with a C N",
    "S V A at first , then B and C",
    "S V A , and the N V B and C",
    "i find S A , B and C",
    "i would call S A , B and C",
    "everyone at the table found S A , B and C",
    "there is a A , B N with a C M",
    "it has a A N , a B M and , all in all , a C character",
    "a A and B N goes with a C M",
    "the notes i took say A N , B M and C all round",
    "three words for S are A , B and C",
    "S V no less A than B , with a C N",
    "what i noticed is a A N , B and C",
    "you get a A and B N and a C M",
    "S V A , B , and to my mind C",
    "my friends described S as A , B and C",
    "as for S , it V A , B and C",
)

LEADS = (
    "", "", "", "", "", "", "to me ,", "in this bottle ,", "in my glass ,", "for what it costs ,", "on this evening ,",
    "from the tap ,", "after a minute ,", "in a pint glass ,", "at cellar temperature ,", "for a beer of this style ,",
    "compared with last year ,", "all things considered ,",
)  # fmt: skip

TAILS = (
    "", "", "", "", "", "", "for the style", "from start to end", "at any temperature", "as the glass empties",
    "in this batch", "in both bottles", "for a beer of this strength", "once it warms up", "with or without food",
    "on tap and from the can", "by any measure", "to my surprise",
)  # fmt: skip

_SAY_AN = ("honest",)
_SAY_A = ("unique", "unified", "useless", "one-dimensional")


def article(word: str) -> str:
    """The indefinite article that goes before `word`."""
    if word in _SAY_AN:
        return "an"
    return "an" if word[0] in "aeiou" and word not in _SAY_A else "a"


def lexicon(words: int, common: float) -> dict[str, dict[str, tuple[str, ...]]]:
    """aspect -> polarity -> `words` sentiment words, of which exactly round(common * words) stand in every aspect.

    No word has both polarities, and a word that is not common belongs to one aspect only.
    """
    shared = round(common * words)
    lists = {polarity: _deal(polarity, words, shared) for polarity in POLARITIES}
    return {aspect: {polarity: lists[polarity][aspect] for polarity in POLARITIES} for aspect in ASPECTS}


def _deal(polarity: str, words: int, shared: int) -> dict[str, tuple[str, ...]]:
    """The words of one polarity by aspect: common ones, then the aspect's own, then its part of the general ones."""
    general = _GENERAL[polarity].split()
    dealt = {}
    for place, aspect in enumerate(ASPECTS):
        own = _OWN[aspect, polarity].split() + general[shared + place :: len(ASPECTS)]
        if shared > len(general) or len(own) < words - shared:
            raise InputError(f"there are not enough words for words={words} with {shared} in common; use fewer words")
        dealt[aspect] = tuple(general[:shared] + own[: words - shared])
    return dealt


def aspect_of(sentence: Sequence[str]) -> str:
    """The aspect that a sentence speaks of: the one whose own nouns, subjects and sentiment words it has most of."""
    words = set(sentence)
    return max(ASPECTS, key=lambda aspect: len(words & _telling(aspect)))


@cache
def _telling(aspect: str) -> frozenset[str]:
    """Words that stand in sentences on this aspect only."""
    own = {a: {w for text in (*NOUNS[a], *SUBJECTS[a], *VERBS[a]) for w in text.split()} for a in ASPECTS}
    for (a, _), text in _OWN.items():
        own[a] |= set(text.split())
    return frozenset(own[aspect] - set().union(*(own[a] for a in ASPECTS if a != aspect)))
