# growth-export as an image of one static program, and a shell for --on-finish
# and the examples for Kubernetes. It runs as an unprivileged user (65532) and
# writes to two places only, so the rest can be read-only:
#
#   docker build --build-arg VERSION=1.0.0 --tag growth-export .
#   docker run --rm --read-only --volume growth-scratch:/scratch \
#     --env GROWTH_EXPORT_API_KEY --env GROWTH_EXPORT_API_SECRET \
#     growth-export run --base-url https://host --dest s3://bucket/prefix
#
# A folder as destination is a volume that user 65532 may write; in Kubernetes
# see fsGroup. The shell has no commands but its own: for an --on-finish that
# needs others, copy the program into an image that has them.

FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
ARG COMMIT=unknown
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION} -X main.commit=${COMMIT}" \
    -o /out/growth-export ./cmd/export && \
    mkdir -m 700 /out/scratch

FROM scratch
# Certificates to know the service and S3 by; SSL_CERT_FILE names others.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=busybox:1.37-musl /bin/busybox /bin/sh
COPY --from=build /out/growth-export /usr/local/bin/growth-export
COPY --from=build --chown=65532:65532 /out/scratch /scratch
ENV GROWTH_EXPORT_SCRATCH=/scratch TMPDIR=/scratch
VOLUME /scratch
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/growth-export"]
CMD ["--help"]
