package facade

import (
	"fmt"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/listfacade/listfacade/internal/oplog"
)

// NewLogger returns a log to stderr in the configured format, and the level of the log.
func NewLogger(c Config) (*zap.Logger, *oplog.Level, error) {
	level, err := zapcore.ParseLevel(c.LogLevel)
	if err != nil {
		return nil, nil, fmt.Errorf("--log-level: %w", err)
	}
	settings := zap.NewProductionConfig()
	if c.LogFormat == "console" {
		settings = zap.NewDevelopmentConfig()
		settings.Development, settings.DisableStacktrace = false, true
	}
	settings.DisableCaller = true
	// Changes of the level are logged by a separate log without sampling, whose level does not change. They therefore
	// always appear.
	every := settings
	every.Sampling = nil
	notices, err := every.Build()
	if err != nil {
		return nil, nil, err
	}
	settings.Level = zap.NewAtomicLevelAt(level)
	log, err := settings.Build()
	return log, oplog.NewLevel(settings.Level, notices, setVerbosity), err
}
