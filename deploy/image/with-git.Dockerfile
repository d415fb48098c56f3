# The image and git, for a policy at `git+…` (docs/governance.md): the image itself has none, because few need it.
ARG IMAGE
FROM ${IMAGE}
USER 0
RUN apt-get update -qq \
  && apt-get install -y -qq --no-install-recommends ca-certificates git openssh-client \
  && rm -rf /var/lib/apt/lists/*
USER 1000:0
