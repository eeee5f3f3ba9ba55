"""Estimators of scikit-learn and boosted trees, fitted to drawn rows: pipelines, forests, support vectors, processes, neighbours, texts."""
import fnmatch
import warnings

import numpy as np

ROWS, FEATURES, ASKED = 400, 20, 64
OPSETS = {"": 18, "ai.onnx.ml": 3}
WORDS = ["red", "green", "blue", "fast", "slow", "memory", "plan", "graph", "node", "tensor"]


def classifiers():
    from sklearn import calibration, decomposition, discriminant_analysis, ensemble, impute, linear_model, multiclass, naive_bayes, neighbors, neural_network, pipeline, preprocessing, svm, tree

    logistic, forest = linear_model.LogisticRegression, ensemble.RandomForestClassifier
    return dict(
        forest=forest(100), extra_trees=ensemble.ExtraTreesClassifier(50), gradient_boosting=ensemble.GradientBoostingClassifier(),
        ada_boost=ensemble.AdaBoostClassifier(), bagging=ensemble.BaggingClassifier(), tree=tree.DecisionTreeClassifier(),
        svc_radial=svm.SVC(probability=True), svc_linear=svm.SVC(kernel="linear"), svc_polynomial=svm.SVC(kernel="poly", decision_function_shape="ovo"),
        svc_nu=svm.NuSVC(nu=0.1), logistic=logistic(), sgd=linear_model.SGDClassifier(), neighbours=neighbors.KNeighborsClassifier(),
        gaussian_bayes=naive_bayes.GaussianNB(), bernoulli_bayes=naive_bayes.BernoulliNB(), perceptron=neural_network.MLPClassifier((64, 32)),
        linear_discriminant=discriminant_analysis.LinearDiscriminantAnalysis(), quadratic_discriminant=discriminant_analysis.QuadraticDiscriminantAnalysis(),
        one_against_rest=multiclass.OneVsRestClassifier(logistic()), one_against_one=multiclass.OneVsOneClassifier(logistic()),
        calibrated=calibration.CalibratedClassifierCV(svm.LinearSVC()), stacked=ensemble.StackingClassifier([("a", logistic()), ("b", forest(10))]),
        pipeline_polynomial=pipeline.make_pipeline(preprocessing.StandardScaler(), decomposition.PCA(8), preprocessing.PolynomialFeatures(2), logistic()),
        pipeline_bins=pipeline.make_pipeline(impute.SimpleImputer(), preprocessing.QuantileTransformer(n_quantiles=20), preprocessing.KBinsDiscretizer(4, encode="ordinal"), forest(20)),
        pipeline_power=pipeline.make_pipeline(preprocessing.PowerTransformer(), preprocessing.RobustScaler(), preprocessing.Normalizer(), decomposition.TruncatedSVD(5), svm.SVC()))


def regressors():
    from sklearn import cross_decomposition, ensemble, gaussian_process, linear_model, neighbors, neural_network, svm
    from sklearn.gaussian_process import kernels

    return dict(
        forest_regressor=ensemble.RandomForestRegressor(100), gradient_boosting_regressor=ensemble.GradientBoostingRegressor(), ada_boost_regressor=ensemble.AdaBoostRegressor(),
        svr=svm.SVR(), svr_nu=svm.NuSVR(), process=gaussian_process.GaussianProcessRegressor(),
        process_sum=gaussian_process.GaussianProcessRegressor(kernels.Matern() + kernels.ConstantKernel() * kernels.RationalQuadratic()),
        neighbours_regressor=neighbors.KNeighborsRegressor(weights="distance"), linear=linear_model.LinearRegression(), bayesian_ridge=linear_model.BayesianRidge(),
        perceptron_regressor=neural_network.MLPRegressor(hidden_layer_sizes=(64,)), partial_least_squares=cross_decomposition.PLSRegression(3), quantiles=linear_model.QuantileRegressor())


def unsupervised():
    from sklearn import cluster, decomposition, ensemble, mixture, neighbors, svm

    return dict(
        k_means=cluster.KMeans(5), isolation_forest=ensemble.IsolationForest(), outlier_factor=neighbors.LocalOutlierFactor(novelty=True), one_class=svm.OneClassSVM(),
        gaussian_mixture=mixture.GaussianMixture(3), bayesian_mixture=mixture.BayesianGaussianMixture(n_components=3), components=decomposition.PCA(5),
        kernel_components=decomposition.KernelPCA(4, kernel="rbf"))


def boosted(rows, labels, targets, folder, asked):
    """Boosted trees by their own packages; they write what they have exported."""
    import catboost
    import lightgbm
    import onnxmltools
    import xgboost
    from onnxmltools.convert.common.data_types import FloatTensorType

    types = [("X", FloatTensorType([None, FEATURES]))]
    light = dict(lightgbm=lightgbm.LGBMClassifier(n_estimators=60, verbose=-1).fit(rows, labels), lightgbm_regressor=lightgbm.LGBMRegressor(n_estimators=60, verbose=-1).fit(rows, targets))
    for name, model in light.items():
        keep(folder, name, onnxmltools.convert_lightgbm(model, initial_types=types, zipmap=False), {"X": asked})
    for name, model in dict(xgboost=xgboost.XGBClassifier(n_estimators=60).fit(rows, labels), xgboost_regressor=xgboost.XGBRegressor(n_estimators=60).fit(rows, targets)).items():
        keep(folder, name, onnxmltools.convert_xgboost(model, initial_types=types), {"X": asked})
    cats = dict(catboost=catboost.CatBoostClassifier(iterations=60, verbose=0).fit(rows, labels), catboost_regressor=catboost.CatBoostRegressor(iterations=60, verbose=0).fit(rows, targets))
    for name, model in cats.items():
        model.save_model(str(folder / f"{name}.classical.onnx"), format="onnx")
        np.savez(folder / f"{name}.classical.npz", features=asked)


def keep(folder, name, model, feeds):
    (folder / f"{name}.classical.onnx").write_bytes(model.SerializeToString())
    np.savez(folder / f"{name}.classical.npz", **feeds)


def table_of_texts(folder):
    """Columns of numbers and of texts, encoded and given to a forest."""
    import pandas
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType
    from sklearn import compose, ensemble, pipeline, preprocessing

    random = np.random.default_rng(1)
    frame = pandas.DataFrame({"a": random.standard_normal(200), "b": random.standard_normal(200), "c": random.choice(["x", "y", "z"], 200), "d": random.choice(WORDS, 200)})
    encoding = compose.ColumnTransformer([("n", preprocessing.StandardScaler(), ["a", "b"]), ("c", preprocessing.OneHotEncoder(handle_unknown="ignore"), ["c"]), ("d", preprocessing.OrdinalEncoder(), ["d"])])
    model = pipeline.make_pipeline(encoding, ensemble.RandomForestClassifier(20)).fit(frame, random.integers(0, 2, 200))
    types = [(column, FloatTensorType([None, 1]) if column in "ab" else StringTensorType([None, 1])) for column in "abcd"]
    feeds = {column: frame[column].to_numpy()[:32].reshape(-1, 1).astype(np.float32 if column in "ab" else str) for column in "abcd"}
    keep(folder, "table_of_texts", to_onnx(model, initial_types=types, options={"zipmap": False}), feeds)


def export(folder, pattern):
    from skl2onnx import to_onnx

    warnings.filterwarnings("ignore")
    random = np.random.default_rng(0)
    rows = random.standard_normal((ROWS, FEATURES)).astype(np.float32)
    labels = (rows[:, 0] + rows[:, 1] ** 2 > 0.5).astype(int) + (rows[:, 2] > 1)
    targets = (rows @ random.standard_normal(FEATURES)).astype(np.float32)
    asked = random.standard_normal((ASKED, FEATURES)).astype(np.float32)

    def attempt(name, action):
        try:
            action()
        except Exception as error:
            print(f"{name}: not exported: {type(error).__name__} {' '.join(str(error).split())[:120]}")

    def fitted(name, model, goal):
        scores = goal is labels and "pipeline" not in name
        options = {id(model): {"zipmap": False}} if scores else None
        keep(folder, name, to_onnx(model.fit(rows, goal), rows[:1], options=options, target_opset=OPSETS), {"X": asked})

    for table, goal in ((classifiers(), labels), (regressors(), targets), (unsupervised(), None)):
        for name, model in table.items():
            if fnmatch.fnmatch(name, pattern):
                attempt(name, lambda: fitted(name, model, goal))
    attempt("boosted trees", lambda: boosted(rows, labels, targets, folder, asked))
    attempt("table_of_texts", lambda: table_of_texts(folder))
