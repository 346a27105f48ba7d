"""Train the 43 classifiers of the finite test set and test each on 899 handwritten digits.

``python -m topk_book.digits`` trains the classifiers and writes ``topk_eval/data/digits.csv``; the
README in that folder lists the versions. It requires scikit-learn, from the extra ``book``.
"""

import csv
import warnings
from pathlib import Path

import numpy as np

from topk_eval import data


def classifiers():
    """Return the 43 untrained classifiers, by their names in the figures."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as LDA
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis as QDA
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier
    from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
    from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
    from sklearn.svm import SVC, LinearSVC
    from sklearn.tree import DecisionTreeClassifier

    found = {f"{k} nearest": KNeighborsClassifier(k) for k in (1, 3, 5, 9, 15, 31)}
    found["5 nearest, by distance"] = KNeighborsClassifier(5, weights="distance")
    found["3 nearest, Manhattan"] = KNeighborsClassifier(3, p=1)
    for C in (0.1, 1, 10):
        for gamma in (0.01, 0.03, 0.1):
            found[f"SVM, C = {C}, γ = {gamma}"] = SVC(C=C, gamma=gamma)
    for degree in (2, 3):
        found[f"SVM, polynomial {degree}"] = SVC(kernel="poly", degree=degree)
    for C in (0.01, 0.1, 1, 10):
        found[f"logistic regression, C = {C}"] = LogisticRegression(C=C, max_iter=2000)
    found["linear SVM, C = 0.1"] = LinearSVC(C=0.1, random_state=0)
    for alpha in (1, 100):
        found[f"ridge, α = {alpha}"] = RidgeClassifier(alpha)
    found["perceptron"] = Perceptron(random_state=0)
    for depth in (5, 8, None):
        name = f"tree, depth {depth}" if depth else "tree"
        found[name] = DecisionTreeClassifier(max_depth=depth, random_state=0)
    for trees in (10, 50, 100):
        found[f"random forest, {trees}"] = RandomForestClassifier(trees, random_state=0)
    for trees in (10, 50, 100):
        found[f"extra trees, {trees}"] = ExtraTreesClassifier(trees, random_state=0)
    found["Gaussian naive Bayes"] = GaussianNB()
    found["Gaussian naive Bayes, smooth"] = GaussianNB(var_smoothing=0.01)
    found["Bernoulli naive Bayes"] = BernoulliNB()
    found["multinomial naive Bayes"] = MultinomialNB()
    found["linear discriminant"] = LDA()
    found["quadratic discriminant"] = QDA(reg_param=0.1)
    found["nearest centroid"] = NearestCentroid()
    return found


def results(names=None):
    """Train classifiers on one half of the digits, and test them on the other half.

    Parameters
    ----------
    names : sequence of str, optional
        A subset of `classifiers`; all by default.

    Returns
    -------
    pandas.DataFrame of int8, shape (43, 899)
        One row per classifier, indexed by name; 1 if the column's digit is classified correctly.
    """
    import pandas as pd
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    pixels, digits = load_digits(return_X_y=True)
    train, test, learned, asked = train_test_split(
        pixels / 16, digits, test_size=0.5, random_state=0, stratify=digits)
    with warnings.catch_warnings():  # some pixels are constant
        warnings.filterwarnings("ignore", "self.within_class_std_dev_", UserWarning)
        right = {name: model.fit(train, learned).predict(test) == asked
                 for name, model in classifiers().items() if names is None or name in names}
    return pd.DataFrame(right).T.astype(np.int8)


def main():
    """Write the file that `topk_eval.data.digits` reads."""
    right, path = results(), Path(data.__file__).with_name("digits.csv")
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("model", "right"))
        for name, row in right.iterrows():
            rows.writerow((name, np.packbits(row.to_numpy()).tobytes().hex()))


if __name__ == "__main__":
    main()
