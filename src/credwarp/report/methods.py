"""The run in sentences for a paper's methods section, written from its plan, with what to cite."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

REFERENCES = {
    "grzech": "D. Grzech, M. F. Azampour, H. Qiu, B. Glocker, B. Kainz and L. Le Folgoc. Uncertainty "
    "quantification in non-rigid image registration via stochastic gradient Markov chain "
    "Monte Carlo. Machine Learning for Biomedical Imaging, 2021:016, 1–25, 2021.",
    "arsigny": "V. Arsigny, O. Commowick, X. Pennec and N. Ayache. A log-Euclidean framework for "
    "statistics on diffeomorphisms. MICCAI 2006, LNCS 4190, 924–931.",
    "rueckert": "D. Rueckert, L. I. Sonoda, C. Hayes, D. L. G. Hill, M. O. Leach and D. J. Hawkes. "
    "Nonrigid registration using free-form deformations. IEEE Transactions on Medical Imaging"
    " 18(8), 712–721, 1999.",
    "simpson": "I. J. A. Simpson, J. A. Schnabel, A. R. Groves, J. L. R. Andersson and M. W. Woolrich. "
    "Probabilistic inference of regularisation in non-rigid registration. NeuroImage 59(3), "
    "2438–2451, 2012.",
    "heinrich": "M. P. Heinrich, M. Jenkinson, B. W. Papież, M. Brady and J. A. Schnabel. Towards "
    "realtime multimodal fusion for image-guided interventions using self-similarities. "
    "MICCAI 2013, LNCS 8149, 187–194.",
    "leimkuhler": "B. Leimkuhler and C. Matthews. Rational construction of stochastic numerical methods for"
    " molecular sampling. Applied Mathematics Research eXpress 2013(1), 34–56, 2013.",
    "welling": "M. Welling and Y. W. Teh. Bayesian learning via stochastic gradient Langevin dynamics. "
    "ICML 2011, 681–688.",
    "dalca": "A. V. Dalca, G. Balakrishnan, J. Guttag and M. R. Sabuncu. Unsupervised learning of "
    "probabilistic diffeomorphic registration for images and surfaces. Medical Image Analysis"
    " 57, 226–236, 2019.",
    "vehtari": "A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Bürkner. Rank-normalization, "
    "folding, and localization: an improved R-hat for assessing convergence of MCMC. Bayesian"
    " Analysis 16(2), 667–718, 2021.",
}
# Section and kind of the plan → what to say of it, and what to cite.
CHOICES: dict[tuple[str, str], tuple[str, tuple[str, ...]]] = {
    ("prealignment", "header"): ("The images were overlaid by the geometry in their headers.", ()),
    ("prealignment", "rigid"): ("The moving image was first aligned rigidly.", ()),
    ("prealignment", "affine"): ("The moving image was first aligned affinely.", ()),
    ("transform", "dense"): (
        "The deformation is the flow of a stationary velocity field given at voxels, by scaling and squaring",
        ("arsigny",),
    ),
    ("transform", "bspline"): (
        "The deformation is the flow of a stationary velocity of cubic B-splines, by scaling and squaring",
        ("rueckert", "arsigny"),
    ),
    ("likelihood", "mixture"): (
        "Residuals between the locally standardised images follow a Gaussian mixture fitted to the pair",
        ("grzech",),
    ),
    ("likelihood", "gaussian"): ("Residuals between the images are Gaussian.", ()),
    ("likelihood", "mind"): (
        "Images are compared by modality-independent neighbourhood descriptors",
        ("heinrich",),
    ),
    ("prior", "sobolev"): (
        "The velocity's prior is Gaussian with a Sobolev precision λ(κ² − Δ)ˢ of fixed strength.",
        (),
    ),
    ("prior", "gaussian"): ("The velocity's prior is Gaussian on its first derivatives.", ()),
    ("prior", "gamma"): (
        "The velocity's prior is Gaussian on its first derivatives, its strength under a gamma law",
        ("grzech",),
    ),
    ("prior", "lognormal"): ("The velocity's prior is log-normal on its roughness", ("grzech",)),
    ("sampler", "underdamped"): (
        "Draws are from underdamped Langevin dynamics with the BAOAB splitting",
        ("leimkuhler",),
    ),
    ("sampler", "sgld"): ("Draws are from stochastic-gradient Langevin dynamics", ("welling",)),
    ("sampler", "hmc"): ("Draws are from Hamiltonian Monte Carlo.", ()),
}
SECTIONS = ("prealignment", "transform", "likelihood", "prior", "sampler")


@dataclass(frozen=True)
class Methods:
    """Sentences, and the references they cite by number."""

    text: str
    references: tuple[str, ...]


def methods(plan: str, qc: Mapping[str, Any], version: str) -> Methods:
    """What was done, from the plan as TOML and the quality check."""
    tree = tomllib.loads(plan) if plan else {}
    cited: list[str] = []
    sentences = [
        _cited(f"The images were registered with credwarp {version}", ("grzech",), cited),
        *(_choice(section, tree, cited) for section in _sections(qc)),
        _decimation(tree, qc, cited),
        _inference(qc, cited),
    ]
    text = " ".join(sentence for sentence in sentences if sentence)
    return Methods(text, tuple(REFERENCES[key] for key in cited))


def _sections(qc: Mapping[str, Any]) -> list[str]:
    """A sampler is told of where it drew."""
    return [section for section in SECTIONS if section != "sampler" or qc.get("method", "mcmc") == "mcmc"]


def _choice(section: str, tree: Mapping[str, Any], cited: list[str]) -> str:
    table = tree.get(section)
    kind = table.get("kind") if isinstance(table, dict) else None
    if kind is None:
        return ""
    sentence, keys = CHOICES.get((section, str(kind)), (f"The {section} is of kind “{kind}”.", ()))
    return _cited(sentence, keys, cited)


def _decimation(tree: Mapping[str, Any], qc: Mapping[str, Any], cited: list[str]) -> str:
    table = tree.get("likelihood", {})
    if not isinstance(table, dict) or table.get("alpha") != "decimation":
        return ""
    found = f", here α = {qc['alpha']:.3g}" if isinstance(qc.get("alpha"), float) else ""
    return _cited(
        f"The likelihood is discounted for spatially correlated noise by virtual decimation{found}",
        ("simpson",), cited,
    )  # fmt: skip


def _inference(qc: Mapping[str, Any], cited: list[str]) -> str:
    method = qc.get("method", "mcmc")
    if method == "map":
        return "The most probable warp was found coarse to fine; no uncertainty was estimated."
    if method == "vi":
        return "The posterior was approximated by a Gaussian law, variationally."
    if method == "amortised":
        return _cited("The posterior was approximated by a trained network", ("dalca",), cited)
    counts = (
        f"{qc['draws']:,} draws were kept from {qc['chains']} chains. "
        if {"draws", "chains"} <= set(qc)
        else ""
    )
    figures = (
        f": R-hat at most {qc['rhat_max']:.3f}, at least {qc['ess_min']:,.0f} effective draws"
        if qc.get("rhat_max") is not None and qc.get("ess_min") is not None
        else ""
    )
    return counts + _cited(
        f"Convergence was judged by rank-normalised split R-hat and effective sample size{figures}",
        ("vehtari",), cited,
    )  # fmt: skip


def _cited(sentence: str, keys: tuple[str, ...], cited: list[str]) -> str:
    """The sentence with the numbers of its references before the full stop."""
    cited += [key for key in keys if key not in cited]
    if not keys:
        return sentence
    return f"{sentence} [{', '.join(str(cited.index(key) + 1) for key in keys)}]."
